// Allocates CUDA memory through torch's C interface on a thread that never had Python. Built by the
// test into a library; needs no headers of torch.
#include <csignal>
#include <cstdint>
#include <thread>

#include <dlfcn.h>

using EmptyFunction =
    int32_t (*)(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t, void**);
using NumberFunction = int32_t (*)();

// So many blocks of 1 MiB, which stay. Not 0: torch refused, or lacks the functions.
extern "C" int allocate_on_new_thread(int count) {
    int failures = 0;
    std::thread([count, &failures] {
        void* const torch = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
        const auto find = [torch](const char* name) { return dlsym(torch, name); };
        const auto empty = reinterpret_cast<EmptyFunction>(find("aoti_torch_empty_strided"));
        const auto cuda = reinterpret_cast<NumberFunction>(find("aoti_torch_device_type_cuda"));
        const auto bytes = reinterpret_cast<NumberFunction>(find("aoti_torch_dtype_uint8"));
        const int64_t size = 1 << 20;
        const int64_t stride = 1;
        for (int i = 0; i < count; ++i) {
            void* tensor = nullptr;
            failures += empty == nullptr || cuda == nullptr || bytes == nullptr ||
                        empty(1, &size, &stride, bytes(), cuda(), 0, &tensor) != 0;
        }
    }).join();
    return failures;
}

extern "C" int allocate_and_die(int count) {
    allocate_on_new_thread(count);
    return raise(SIGKILL);
}
