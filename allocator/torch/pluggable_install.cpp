#include "pluggable_install.h"

#include <c10/core/Allocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include <cuda_runtime_api.h>

#include "alloc_scope.h"
#include "delegate.h"

namespace peakline::torch_part {
namespace {

namespace cca = c10::cuda::CUDACachingAllocator;

// Set once in install_pluggable.
const Host* g_host = nullptr;
cca::CUDAAllocator* g_native = nullptr;
std::shared_ptr<cca::CUDAAllocator>* g_keep_alive = nullptr;

[[noreturn]] void throw_out_of_memory(size_t bytes, int device, cudaError_t error) {
    cudaGetLastError();  // torch clears the error before it throws, too
    TORCH_CHECK_WITH(OutOfMemoryError,
                     false,
                     "CUDA out of memory. Tried to allocate ",
                     bytes,
                     " bytes on GPU ",
                     device,
                     " through the pluggable backend: ",
                     cudaGetErrorString(error));
}

template <class Call>
void* recorded(ssize_t bytes, int device, cudaStream_t stream, Call call) {
    if (bytes <= 0) {
        return nullptr;
    }
    const AllocScope scope(*g_host, static_cast<size_t>(bytes), reinterpret_cast<uint64_t>(stream));
    void* address = scope.call(call);
    scope.end(address, device, stream);
    return address;
}

void* allocate_native(size_t bytes, int device, cudaStream_t stream) {
    return recorded(static_cast<ssize_t>(bytes), device, stream, [&] {
        return g_native->raw_alloc_with_stream(bytes, stream);
    });
}

void free_native(void* address, size_t, int device, cudaStream_t) {
    g_host->block_freed(address, device);
    g_native->raw_delete(address);
}

void* allocate_async(size_t bytes, int device, cudaStream_t stream) {
    return recorded(static_cast<ssize_t>(bytes), device, stream, [&] {
        void* address = nullptr;
        const cudaError_t error = cudaMallocAsync(&address, bytes, stream);
        if (error != cudaSuccess) {
            throw_out_of_memory(bytes, device, error);
        }
        return address;
    });
}

void free_async(void* address, size_t, int device, cudaStream_t stream) {
    g_host->block_freed(address, device);
    C10_CUDA_CHECK_WARN(cudaFreeAsync(address, stream));
}

void* allocate_plain(size_t bytes, int device, cudaStream_t stream) {
    return recorded(static_cast<ssize_t>(bytes), device, stream, [&] {
        void* address = nullptr;
        const cudaError_t error = cudaMalloc(&address, bytes);
        if (error != cudaSuccess) {
            throw_out_of_memory(bytes, device, error);
        }
        return address;
    });
}

void free_plain(void* address, size_t, int device, cudaStream_t) {
    g_host->block_freed(address, device);
    C10_CUDA_CHECK_WARN(cudaFree(address));
}

void init_native(int device_count) {
    g_native->init(device_count);
    observe_native_allocator();
}

void record_stream_native(void* address, cudaStream_t stream) {
    attach_tracker_once();
    // The native allocator ignores pointers with another deleter than its own.
    const auto device = c10::Device(c10::kCUDA, c10::cuda::current_device());
    c10::DataPtr pointer(address, address, g_native->raw_deleter(), device);
    g_native->recordStream(pointer, c10::cuda::getStreamFromExternal(stream, device.index()));
    pointer.release_context();
}

void set_native_hooks(torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator* allocator) {
    allocator->set_init_fn(init_native);
    allocator->set_reset_fn([] { g_native->emptyCache({0, 0}); });
    allocator->set_memory_fraction_fn([](double fraction, int device) {
        g_native->setMemoryFraction(fraction, static_cast<c10::DeviceIndex>(device));
    });
    allocator->set_base_alloc_fn(
        [](void* address, size_t* bytes) { return g_native->getBaseAllocation(address, bytes); });
    allocator->set_record_stream_fn(record_stream_native);
    allocator->set_begin_allocate_to_pool(
        [](int device, c10::MempoolId_t pool, std::function<bool(cudaStream_t)> filter) {
            g_native->beginAllocateToPool(
                static_cast<c10::DeviceIndex>(device), pool, std::move(filter));
        });
    allocator->set_end_allocate_to_pool_fn([](int device, c10::MempoolId_t pool) {
        g_native->endAllocateToPool(static_cast<c10::DeviceIndex>(device), pool);
    });
    allocator->set_release_pool([](int device, c10::MempoolId_t pool) {
        g_native->releasePool(static_cast<c10::DeviceIndex>(device), pool);
    });
}

}  // namespace

cca::CUDAAllocator* install_pluggable(const Host& host,
                                      Backend backend,
                                      cca::CUDAAllocator* native) {
    using torch::cuda::CUDAPluggableAllocator::createCustomAllocator;
    g_host = &host;
    g_native = native;
    std::shared_ptr<cca::CUDAAllocator> made;
    if (backend == Backend::kPluggableAsync) {
        made = createCustomAllocator(allocate_async, free_async);
    } else if (backend == Backend::kPluggableMalloc) {
        made = createCustomAllocator(allocate_plain, free_plain);
    } else {
        made = createCustomAllocator(allocate_native, free_native);
        set_native_hooks(
            static_cast<torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator*>(made.get()));
    }
    torch::cuda::CUDAPluggableAllocator::changeCurrentAllocator(made);
    c10::SetAllocator(c10::kCUDA, made.get(), 0);
    g_keep_alive = new std::shared_ptr<cca::CUDAAllocator>(made);
    return made.get();
}

}  // namespace peakline::torch_part
