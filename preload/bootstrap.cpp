// The preloaded library: libc only. Until torch initialises CUDA, or the driver is used without
// torch, it produces no output and no file. It only notes the working directory, keeps open regions
// (early_regions.cpp) and forwards driver calls (driver/). Then it loads libpeakline.so from its
// own folder, once. Every function that it interposes forwards to the real one, also if loading
// failed.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bus_errors.h"
#include "driver/driver_seam.h"
#include "standard_error.h"

#define EXPORT __attribute__((visibility("default")))

namespace {

// PeaklineWayIn of peakline_api.h.
constexpr int32_t kPreloadWayIn = 0;
constexpr int32_t kDriverWayIn = 3;
constexpr int32_t kCpuWayIn = 4;
constexpr char kCountSymbol[] = "_ZN3c104cuda28device_count_ensure_non_zeroEv";
constexpr char kEngineSymbol[] = "_ZN5torch8autograd23set_default_engine_stubEPFRNS0_6EngineEvE";

void (*g_end_of_process)(const void* caller) = nullptr;
void (*g_real_exit)(int) = nullptr;
long g_recorded_pid = 0;  // pid of the recorded process
int g_entered = 0;
char g_start_folder[4096] = "";

// A program may change its folder before it uses CUDA, but a relative trace name refers to the
// start folder. The C library's errno is usable by now, and `main` must not see our error.
__attribute__((constructor)) void note_start_folder() {
    const int error = errno;
    if (syscall(SYS_getcwd, g_start_folder, sizeof g_start_folder) < 0 ||
        g_start_folder[0] != '/') {
        g_start_folder[0] = '\0';  // removed, or outside the root
    }
    errno = error;
}

// Uses the system call: a child of vfork has its own id but shares its parent's memory.
long process_id() {
    return syscall(SYS_getpid);
}

bool wants_cpu() {
    const char* given = getenv("PEAKLINE_CPU");
    return given != nullptr && given[0] != '\0' && strcmp(given, "0") != 0;
}

// torch calls us before the allocator is initialised, the last moment to replace it. It usually
// holds the GIL then; see Note [Attaching later] in pyhook/interpreter/late_attach.h.
void enter_slow(int32_t way_in) {
    Dl_info self{};
    char path[4096];
    if (dladdr(reinterpret_cast<void*>(&enter_slow), &self) == 0) {
        return;
    }
    const char* slash = strrchr(self.dli_fname, '/');
    const size_t folder = slash != nullptr ? static_cast<size_t>(slash - self.dli_fname) + 1 : 0;
    if (folder + sizeof "libpeakline.so" > sizeof path) {
        return;
    }
    memcpy(path, self.dli_fname, folder);
    memcpy(path + folder, "libpeakline.so", sizeof "libpeakline.so");
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        peakline_complain("not recording, cannot load the recorder: ", dlerror());
        return;
    }
    const auto enter =
        reinterpret_cast<int32_t (*)(int32_t, char*, size_t)>(dlsym(library, "peakline_enter"));
    // Looked up now: a signal handler that calls _exit may have interrupted the loader or malloc.
    g_real_exit = reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "_exit"));
    g_recorded_pid = process_id();
    g_end_of_process =
        reinterpret_cast<void (*)(const void*)>(dlsym(library, "peakline_end_of_process"));
    peakline_lead_bus_errors(reinterpret_cast<peakline_program_action_function>(
        dlsym(library, "peakline_program_bus_action")));
    char message[512] = "";
    if (enter != nullptr && enter(way_in, message, sizeof message) > 1) {
        peakline_complain("not recording: ", message);
    }
}

}  // namespace

extern "C" {

// Working directory at the start of the process; "" if unknown.
EXPORT const char* peakline_start_folder() {
    return g_start_folder;
}

// DeviceIndex c10::cuda::device_count_ensure_non_zero(). Its result is an int8_t, in older torch an
// int; the lowest byte is the count in both. It throws when there is no GPU; the exception passes
// through and nothing is loaded.
// NOLINTNEXTLINE(readability-identifier-naming): torch's own name.
EXPORT int _ZN3c104cuda28device_count_ensure_non_zeroEv() {
    static int (*real)() = nullptr;
    if (real == nullptr) {
        void* library = dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
        if (library == nullptr) {
            return 0;
        }
        real = reinterpret_cast<int (*)()>(dlsym(library, kCountSymbol));
    }
    const int count = real();
    if (static_cast<int8_t>(count) > 0 &&
        __atomic_exchange_n(&g_entered, 1, __ATOMIC_ACQ_REL) == 0) {
        enter_slow(kPreloadWayIn);
    }
    return count;
}

// void torch::autograd::set_default_engine_stub(Engine& (*)()). torch._C calls it once during its
// import, with the GIL held, when all of torch's libraries are loaded and no tensor exists.
// NOLINTNEXTLINE(readability-identifier-naming): torch's own name.
EXPORT void _ZN5torch8autograd23set_default_engine_stubEPFRNS0_6EngineEvE(void* stub) {
    Dl_info caller{};
    void (*real)(void*) = nullptr;
    const bool is_known = dladdr(__builtin_return_address(0), &caller) != 0;
    const char* const names[] = {is_known ? caller.dli_fname : nullptr, "libtorch_cpu.so"};
    for (const char* name : names) {
        void* library = name != nullptr ? dlopen(name, RTLD_NOLOAD | RTLD_LAZY) : nullptr;
        if (real == nullptr && library != nullptr) {
            real = reinterpret_cast<void (*)(void*)>(dlsym(library, kEngineSymbol));
        }
    }
    if (real == nullptr) {
        return;
    }
    real(stub);
    if (wants_cpu()) {
        enter_slow(kCpuWayIn);
    }
}

// The program uses the driver without torch.
void peakline_driver_first_use() {
    enter_slow(kDriverWayIn);
}

// Forked and spawned workers leave by _exit, which runs no exit handler. So does a child of vfork
// whose exec failed (subprocess.run of a missing program), in its parent's memory. Only the
// recorded process ends its recording.
EXPORT void _exit(int status) {
    if (g_end_of_process != nullptr && process_id() == g_recorded_pid) {
        g_end_of_process(__builtin_return_address(0));
    }
    if (g_real_exit == nullptr) {
        g_real_exit = reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "_exit"));
    }
    g_real_exit(status);
    __builtin_unreachable();
}
}
