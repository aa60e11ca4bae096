// Takes memory of device 0 from the driver without torch, one way after the other, and keeps it.
// The words are the ways; the last printed line has, as JSON, the requested bytes and the driver's
// bytes in use. Compiled with -DLINKED it is linked to the driver.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

using Address = unsigned long long;
using Alloc = int (*)(Address*, size_t);
using Free = int (*)(Address);
using AllocAsync = int (*)(Address*, size_t, void*);
using Lookup = int (*)(const char*, void**, int, Address, int*);
using OldLookup = int (*)(const char*, void**, int, Address);

#ifdef LINKED
extern "C" int cuMemAlloc_v2(Address* address, size_t bytes);
#endif

namespace {

void* g_driver = nullptr;
size_t g_asked_bytes = 0;
int g_asked_count = 0;

template <class Function>
Function driver(const char* name) {
    return reinterpret_cast<Function>(dlsym(g_driver, name));
}

void check(int error, const char* what) {
    if (error != 0) {
        fprintf(stderr, "%s: error %d\n", what, error);
        exit(1);
    }
}

void keep(Alloc alloc, size_t bytes, const char* way) {
    Address address = 0;
    check(alloc == nullptr ? -1 : alloc(&address, bytes), way);
    g_asked_bytes += bytes;
    ++g_asked_count;
}

template <class Function>
Function looked_up(const char* name, int version, Address flags) {
    void* found = nullptr;
    int status = 0;
    check(driver<Lookup>("cuGetProcAddress_v2")(name, &found, version, flags, &status), name);
    return reinterpret_cast<Function>(found);
}

void by_old_lookup() {
    void* found = nullptr;
    check(driver<OldLookup>("cuGetProcAddress")("cuMemAlloc", &found, 11030, 0), "look-up");
    keep(reinterpret_cast<Alloc>(found), 3'000'002, "old look-up");
}

void by_answered_lookup() {
    void* found = nullptr;
    int status = 0;
    const auto lookup = looked_up<Lookup>("cuGetProcAddress", 12000, 0);
    check(lookup("cuMemAlloc", &found, 13000, 0, &status), "answered look-up");
    keep(reinterpret_cast<Alloc>(found), 3'000'003, "answered look-up");
}

void by_stream(Address flags, size_t bytes) {
    Address address = 0;
    check(looked_up<AllocAsync>("cuMemAllocAsync", 12000, flags)(&address, bytes, nullptr),
          "cuMemAllocAsync");
    g_asked_bytes += bytes;
    ++g_asked_count;
}

// The driver makes one request of another for it.
void by_pitch() {
    Address address = 0;
    size_t pitch = 0;
    constexpr size_t kRows = 10;
    check(driver<int (*)(Address*, size_t*, size_t, size_t, unsigned)>("cuMemAllocPitch_v2")(
              &address, &pitch, 100, kRows, 4),
          "cuMemAllocPitch_v2");
    g_asked_bytes += pitch * kRows;
    ++g_asked_count;
}

template <class Function>
Function runtime(const char* name) {
    void* const library = dlopen(getenv("RUNTIME"), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return reinterpret_cast<Function>(dlsym(library, name));
}

void by_runtime() {
    const auto malloc = runtime<int (*)(void**, size_t)>("cudaMalloc");
    void* address = nullptr;
    check(malloc(&address, 4'000'001), "cudaMalloc");
    g_asked_bytes += 4'000'001;
    ++g_asked_count;
}

// The runtime looks the driver's function up.
void by_entry_point() {
    void* found = nullptr;
    int status = 0;
    check(runtime<int (*)(const char*, void**, Address, int*)>("cudaGetDriverEntryPoint")(
              "cuMemAlloc", &found, 0, &status),
          "cudaGetDriverEntryPoint");
    keep(reinterpret_cast<Alloc>(found), 11'000'011, "entry point");
    found = nullptr;
    check(runtime<int (*)(const char*, void**, unsigned, Address, int*)>(
              "cudaGetDriverEntryPointByVersion")("cuMemAlloc", &found, 12000, 0, &status),
          "cudaGetDriverEntryPointByVersion");
    keep(reinterpret_cast<Alloc>(found), 11'000'012, "entry point by version");
}

// A graph has two blocks, one after the other, and is launched twice: it holds the larger one.
void by_graph() {
    void* stream = nullptr;
    void* graph = nullptr;
    void* executable = nullptr;
    check(driver<int (*)(void**, unsigned)>("cuStreamCreate")(&stream, 1), "cuStreamCreate");
    check(driver<int (*)(void*, int)>("cuStreamBeginCapture_v2")(stream, 2), "capture");
    for (const size_t bytes : {size_t{20} << 20, size_t{12} << 20}) {
        Address address = 0;
        check(driver<AllocAsync>("cuMemAllocAsync")(&address, bytes, stream), "node");
        check(driver<int (*)(Address, void*)>("cuMemFreeAsync")(address, stream), "node");
    }
    check(driver<int (*)(void*, void**)>("cuStreamEndCapture")(stream, &graph), "capture");
    check(driver<int (*)(void**, void*, Address)>("cuGraphInstantiateWithFlags")(
              &executable, graph, 0),
          "cuGraphInstantiateWithFlags");
    for (int i = 0; i < 2; ++i) {
        check(driver<int (*)(void*, void*)>("cuGraphLaunch")(executable, stream), "launch");
    }
}

// Each keeps its last block; the others come and go.
void by_threads() {
    constexpr int kThreads = 8;
    constexpr int kRounds = 200;
    void* context = nullptr;
    check(driver<int (*)(void**)>("cuCtxGetCurrent")(&context), "context");
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([=] {
            driver<int (*)(void*)>("cuCtxSetCurrent")(context);
            for (int round = 0; round < kRounds; ++round) {
                Address address = 0;
                check(driver<Alloc>("cuMemAlloc_v2")(&address, 5'000'000), "thread");
                if (round + 1 < kRounds) {
                    check(driver<Free>("cuMemFree_v2")(address), "thread");
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    g_asked_bytes += kThreads * size_t{5'000'000};
    g_asked_count += kThreads;
}

// None of these gives anything, and none may disturb.
void by_errors() {
    Address address = 0x1234;
    const bool is_refused = driver<Alloc>("cuMemAlloc_v2")(&address, size_t{1} << 50) != 0;
    const bool is_unknown = driver<Free>("cuMemFree_v2")(0x7777000) != 0;
    check(is_refused && is_unknown ? 0 : -1, "errors");
}

void by_fork() {
    const pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    keep(driver<Alloc>("cuMemAlloc_v2"), 6'000'001, "after fork");
}

// A handle that is released lives on as long as it is mapped.
void by_mapping(bool is_unmapped) {
    constexpr size_t kBytes = 32 << 20;
    const int properties[8] = {1, 0, 1, 0, 0, 0, 0, 0};  // pinned, on device 0
    Address handle = 0;
    Address address = 0;
    check(driver<int (*)(Address*, size_t, const void*, Address)>("cuMemCreate")(
              &handle, kBytes, properties, 0),
          "cuMemCreate");
    check(driver<int (*)(Address*, size_t, size_t, Address, Address)>("cuMemAddressReserve")(
              &address, kBytes, 0, 0, 0),
          "cuMemAddressReserve");
    check(driver<int (*)(Address, size_t, size_t, Address, Address)>("cuMemMap")(
              address, kBytes, 0, handle, 0),
          "cuMemMap");
    check(driver<int (*)(Address)>("cuMemRelease")(handle), "cuMemRelease");
    if (is_unmapped) {
        check(driver<int (*)(Address, size_t)>("cuMemUnmap")(address, kBytes), "cuMemUnmap");
        return;
    }
    g_asked_bytes += kBytes;
    ++g_asked_count;
}

// Flat, of 1000 x 100 pairs of floats, and solid; a third one comes and goes.
void by_arrays() {
    struct {
        size_t width, height;
        int format;
        unsigned channels;
    } flat = {1000, 100, 0x20, 2};
    struct {
        size_t width, height, depth;
        int format;
        unsigned channels, flags;
    } solid = {100, 100, 50, 0x01, 4, 0};
    void* array = nullptr;
    const auto create = driver<int (*)(void**, const void*)>("cuArrayCreate_v2");
    check(create(&array, &flat), "cuArrayCreate_v2");
    check(driver<int (*)(void**, const void*)>("cuArray3DCreate_v2")(&array, &solid),
          "cuArray3DCreate_v2");
    check(create(&array, &flat), "cuArrayCreate_v2");
    check(driver<int (*)(void*)>("cuArrayDestroy")(array), "cuArrayDestroy");
    g_asked_bytes += 1000 * 100 * 2 * 4 + 100 * 100 * 50 * 4;
    g_asked_count += 2;
}

// None of it is the device's.
void by_host() {
    void* pinned = nullptr;
    check(driver<int (*)(void**, size_t)>("cuMemAllocHost_v2")(&pinned, 1'000'001), "pinned");
    check(driver<int (*)(void**, size_t, unsigned)>("cuMemHostAlloc")(&pinned, 2'000'002, 0),
          "pinned");
    check(driver<int (*)(void*)>("cuMemFreeHost")(pinned), "cuMemFreeHost");
    void* const registered = malloc(3'000'003);
    check(
        driver<int (*)(void*, size_t, unsigned)>("cuMemHostRegister_v2")(registered, 3'000'003, 0),
        "cuMemHostRegister_v2");
    Address managed = 0;
    check(driver<int (*)(Address*, size_t, unsigned)>("cuMemAllocManaged")(&managed, 4'000'004, 1),
          "cuMemAllocManaged");
}

struct IpcHandle {
    unsigned char bytes[64];
};

// The memory is ours, whoever opens it.
void by_sharing(const char* program) {
    Address address = 0;
    IpcHandle handle{};
    check(driver<Alloc>("cuMemAlloc_v2")(&address, 8'000'008), "cuMemAlloc_v2");
    check(driver<int (*)(IpcHandle*, Address)>("cuIpcGetMemHandle")(&handle, address),
          "cuIpcGetMemHandle");
    std::string text = "opened:";
    for (const unsigned char byte : handle.bytes) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02x", byte);
        text += digits;
    }
    const pid_t child = fork();
    if (child == 0) {
        execl(program, program, text.c_str(), nullptr);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    check(status, "the process that opens it");
    g_asked_bytes += 8'000'008;
    ++g_asked_count;
}

void by_opening(const std::string& digits) {
    IpcHandle handle{};
    for (size_t i = 0; i < sizeof handle.bytes; ++i) {
        handle.bytes[i] =
            static_cast<unsigned char>(strtoul(digits.substr(2 * i, 2).c_str(), nullptr, 16));
    }
    Address address = 0;
    check(driver<int (*)(Address*, IpcHandle, unsigned)>("cuIpcOpenMemHandle_v2")(
              &address, handle, 1),
          "cuIpcOpenMemHandle_v2");
    keep(driver<Alloc>("cuMemAlloc_v2"), 1'000'009, "beside what was opened");
}

// Everything of the device goes without a call for each block.
void by_reset() {
    void* context = nullptr;
    keep(driver<Alloc>("cuMemAlloc_v2"), 7'000'007, "before the reset");
    by_stream(0, 7'000'008);
    check(driver<int (*)(int)>("cuDevicePrimaryCtxReset_v2")(0), "reset");
    check(driver<int (*)(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0), "retain");
    check(driver<int (*)(void*)>("cuCtxSetCurrent")(context), "context");
    g_asked_bytes = 0;
    g_asked_count = 0;
    keep(driver<Alloc>("cuMemAlloc_v2"), 9'000'009, "after the reset");
}

void take(const std::string& way) {
    if (way == "dlsym") {
        keep(driver<Alloc>("cuMemAlloc_v2"), 2'000'001, "dlsym");
    } else if (way == "lookup") {
        keep(looked_up<Alloc>("cuMemAlloc", 12000, 0), 3'000'001, "look-up");
        by_old_lookup();
        by_answered_lookup();
    } else if (way == "stream") {
        by_stream(0, 5'000'001);
        by_stream(2, 5'000'002);  // of a thread's own default stream
    } else if (way == "pitch") {
        by_pitch();
    } else if (way == "runtime") {
        by_runtime();
    } else if (way == "threads") {
        by_threads();
    } else if (way == "errors") {
        by_errors();
    } else if (way == "fork") {
        by_fork();
    } else if (way == "entry") {
        by_entry_point();
    } else if (way == "graph") {
        by_graph();
    } else if (way == "arrays") {
        by_arrays();
    } else if (way == "host") {
        by_host();
    } else if (way == "shared") {
        by_sharing("/proc/self/exe");
    } else if (way.rfind("opened:", 0) == 0) {
        by_opening(way.substr(7));
    } else if (way == "reset") {
        by_reset();
    } else if (way == "mapped" || way == "unmapped") {
        by_mapping(way == "unmapped");
#ifdef LINKED
    } else if (way == "linked") {
        keep(cuMemAlloc_v2, 1'000'001, "linked");
#endif
    } else {
        check(-1, way.c_str());
    }
}

}  // namespace

int main(int count, char** words) {
    g_driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (g_driver == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void* context = nullptr;
    check(driver<int (*)(unsigned)>("cuInit")(0), "cuInit");
    check(driver<int (*)(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0), "retain");
    check(driver<int (*)(void*)>("cuCtxSetCurrent")(context), "context");
    for (int i = 1; i < count; ++i) {
        take(words[i]);
    }
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    check(driver<int (*)(size_t*, size_t*)>("cuMemGetInfo_v2")(&free_bytes, &total_bytes), "info");
    printf("{\"asked_bytes\": %zu, \"asked_count\": %d, \"used_bytes\": %zu}\n",
           g_asked_bytes,
           g_asked_count,
           total_bytes - free_bytes);
}
