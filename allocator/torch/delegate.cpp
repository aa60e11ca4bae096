#include "delegate.h"

#include <atomic>

#include <c10/core/Allocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include "alloc_scope.h"

namespace peakline::torch_part {
namespace {

// Deleter of blocks that the native allocator does not report (cudaMallocAsync, caching switched
// off); one function per process. relaxed: written before the first block that needs it.
std::atomic<c10::DeleterFnPtr> g_unreported_deleter{nullptr};
const Host* g_host = nullptr;

void delete_unreported(void* address) {
    g_host->block_freed(address, -1);
    g_unreported_deleter.load(std::memory_order_relaxed)(address);
}

}  // namespace

c10::DataPtr Delegate::wrap_unreported(c10::DataPtr pointer) {
    const c10::Device device = pointer.device();
    g_host = &host_;
    g_unreported_deleter.store(pointer.get_deleter(), std::memory_order_relaxed);
    void* address = pointer.release_context();
    return {address, address, &delete_unreported, device};
}

c10::DataPtr Delegate::allocate(size_t bytes) {
    const AllocScope scope(host_, bytes);
    c10::DataPtr pointer = scope.call([&] { return native_->allocate(bytes); });
    if (scope.end(pointer.get(), pointer.device().index(), nullptr)) {
        return pointer;
    }
    return wrap_unreported(std::move(pointer));
}

#ifdef PEAKLINE_HAS_allocateWithAddress
c10::DataPtr Delegate::allocateWithAddress(size_t bytes, void* address) {
    const AllocScope scope(host_, bytes);
    c10::DataPtr pointer = scope.call([&] { return native_->allocateWithAddress(bytes, address); });
    if (scope.end(pointer.get(), pointer.device().index(), nullptr)) {
        return pointer;
    }
    return wrap_unreported(std::move(pointer));
}
#endif

void* Delegate::raw_alloc(size_t bytes) {
    const AllocScope scope(host_, bytes);
    void* address = scope.call([&] { return native_->raw_alloc(bytes); });
    scope.end(address, c10::cuda::current_device(), nullptr);
    return address;
}

void* Delegate::raw_alloc_with_stream(size_t bytes, cudaStream_t stream) {
    const AllocScope scope(host_, bytes, reinterpret_cast<uint64_t>(stream));
    void* address = scope.call([&] { return native_->raw_alloc_with_stream(bytes, stream); });
    scope.end(address, c10::cuda::current_device(), stream);
    return address;
}

void Delegate::raw_delete(void* address) {
    host_.block_freed(address, -1);
    native_->raw_delete(address);
}

void Delegate::recordStream(const c10::DataPtr& pointer, c10::cuda::CUDAStream stream) {
    attach_tracker_once();
    if (pointer.get() == nullptr || pointer.get_deleter() != &delete_unreported) {
        native_->recordStream(pointer, stream);
        return;
    }
    // The native allocator may check the deleter: give it its own.
    c10::DataPtr native_pointer(
        pointer.get(), pointer.get(), native_->raw_deleter(), pointer.device());
    native_->recordStream(native_pointer, stream);
    native_pointer.release_context();
}

}  // namespace peakline::torch_part
