// Reports each block of torch's allocator to the simulated GPU. The callback runs under the
// allocator's lock and must not call torch.
#include "blocks.h"

#include <atomic>
#include <exception>

#include <c10/cuda/CUDACachingAllocator.h>

#include "device_values.h"

namespace peakline::simulated {
namespace {

using Entry = c10::cuda::CUDACachingAllocator::TraceEntry;

void on_entry(const Entry& entry) {
    if (entry.action_ == Entry::ALLOC) {
        device_values()->begin_block(reinterpret_cast<void*>(entry.addr_), entry.size_);
    }
}

std::atomic<bool> g_is_watched{false};

}  // namespace

void watch_blocks_once() {
    // relaxed: only shows whether this was tried.
    if (g_is_watched.load(std::memory_order_relaxed)) {
        return;
    }
    auto* const allocator = c10::cuda::CUDACachingAllocator::get();
    if (allocator == nullptr || !allocator->initialized() || g_is_watched.exchange(true)) {
        return;
    }
    try {
        allocator->attachAllocatorTraceTracker(on_entry);
    } catch (const std::exception&) {
        // backend:cudaMallocAsync and the program's own allocators have no watcher: blocks stay
        // unknown.
    }
}

}  // namespace peakline::simulated
