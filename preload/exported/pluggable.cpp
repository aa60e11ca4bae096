// The plain C allocator interface, for programs that load it by hand:
//   torch.cuda.memory.CUDAPluggableAllocator(peakline.library_path(), "peakline_malloc",
//                                            "peakline_free")
// Every tensor is one cudaMalloc. The functions come from the loaded CUDA runtime, found on first
// use. This is the only file of the library compiled with exceptions, see peakline_malloc.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <dlfcn.h>

#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/recorder.h"
#include "allocator/torch/torch_part.h"
#include "preload/peakline_api.h"

namespace {

using peakline::record::AllocEvent;
using peakline::record::Recorder;

struct CudaRuntime {
    int (*malloc)(void**, size_t) = nullptr;
    int (*free)(void*) = nullptr;
    int (*set_device)(int) = nullptr;
    int (*get_device)(int*) = nullptr;
    int (*get_last_error)() = nullptr;
    const char* (*get_error_string)(int) = nullptr;
};

void* open_runtime() {
    for (const char* name : {"libcudart.so.13", "libcudart.so.12"}) {
        if (void* library = dlopen(name, RTLD_NOLOAD | RTLD_LAZY)) {
            return library;
        }
    }
    return nullptr;
}

const CudaRuntime& real_cuda() {
    static const CudaRuntime runtime = [] {
        CudaRuntime found;
        void* library = open_runtime();
        if (library == nullptr) {
            library = RTLD_DEFAULT;
        }
        const auto find = [library](auto& function, const char* name) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        };
        find(found.malloc, "cudaMalloc");
        find(found.free, "cudaFree");
        find(found.set_device, "cudaSetDevice");
        find(found.get_device, "cudaGetDevice");
        find(found.get_last_error, "cudaGetLastError");
        find(found.get_error_string, "cudaGetErrorString");
        return found;
    }();
    return runtime;
}

// Sets recording up on first use: a program that loads us by hand calls nothing else.
Recorder& ready_recorder() {
    static const bool ready = [] {
        char message[512] = "";
        PeaklineStatus status{};
        peakline_status(&status);
        if (status.is_on == 0) {
            peakline_enter(kPeaklinePluggable, message, sizeof message);
        }
        return true;
    }();
    (void)ready;
    return Recorder::instance();
}

// Sets the device for one call: torch frees on any thread, with any current device.
class DeviceScope {
public:
    explicit DeviceScope(int device) {
        real_cuda().get_device(&previous_);
        if (previous_ != device) {
            real_cuda().set_device(device);
            changed_ = true;
        }
    }
    ~DeviceScope() {
        if (changed_) {
            real_cuda().set_device(previous_);
        }
    }
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

private:
    int previous_ = 0;
    bool changed_ = false;
};

[[noreturn]] void throw_out_of_memory(ptrdiff_t bytes, int device, int error) {
    real_cuda().get_last_error();  // torch must not read our failure as its own
    throw std::runtime_error(
        "CUDA out of memory. Tried to allocate " + std::to_string(bytes) + " bytes on GPU " +
        std::to_string(device) +
        " with cudaMalloc (peakline_malloc): " + real_cuda().get_error_string(error));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* peakline_malloc(ptrdiff_t bytes,
                                                                        int device,
                                                                        void* stream) {
    if (bytes <= 0) {
        return nullptr;
    }
    if (real_cuda().malloc == nullptr) {
        throw std::runtime_error("peakline_malloc: no CUDA runtime is loaded in this process");
    }
    Recorder& recorder = ready_recorder();
    const DeviceScope scope(device);
    void* address = nullptr;
    const int error = real_cuda().malloc(&address, static_cast<size_t>(bytes));
    if (error != 0) {
        throw_out_of_memory(bytes, device, error);
    }
    peakline::capture::ThreadState* state = peakline::capture::thread_state(recorder.table());
    // With the delegate backend, the delegate records the block.
    if (state != nullptr && state->pending.progress == peakline::torch_part::kNoAlloc) {
        const uint32_t context = recorder.is_tracing()
                                     ? peakline::capture::capture_context(recorder.table(), *state)
                                     : recorder.untraced_context();
        const auto size = static_cast<uint64_t>(bytes);
        recorder.record_alloc(
            AllocEvent{reinterpret_cast<uint64_t>(address),
                       size,
                       size,
                       context,
                       recorder.table().intern_stream(reinterpret_cast<uint64_t>(stream)),
                       static_cast<uint32_t>(device)},
            peakline::record::kUnknownTotal);
    }
    return address;
}

extern "C" __attribute__((visibility("default"))) void peakline_free(void* address,
                                                                     ptrdiff_t,
                                                                     int device,
                                                                     void*) {
    if (address == nullptr || real_cuda().free == nullptr) {
        return;
    }
    Recorder& recorder = ready_recorder();
    peakline::capture::ThreadState* state = peakline::capture::thread_state(recorder.table());
    const uint32_t context = state != nullptr && recorder.is_tracing()
                                 ? peakline::capture::capture_free(recorder.table(), *state)
                                 : 0;
    recorder.record_unreported_free(reinterpret_cast<uint64_t>(address), context);
    const DeviceScope scope(device);
    real_cuda().free(address);
}
