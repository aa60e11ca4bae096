// Entry of the part compiled against torch: puts the chosen backend in place and attaches the
// observers. Called once by libpeakline.so; after CUDA was initialised it only observes.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>

#include <c10/core/Allocator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include "allocator/record/format/trace_format.h"
#include "delegate.h"
#include "gradients.h"
#include "held_graphs.h"
#include "observe.h"
#include "pluggable_install.h"
#include "routing.h"
#include "tensor_types.h"

namespace peakline::torch_part {
namespace {

// Note [A tracker only where needed]
// A trace tracker makes torch build three records for every pair of allocation and free: half of
// the cost of recording. Requested size, stream and ordinary frees are known without it, segments
// from cudaMalloc, out-of-memory from its observer. Only a tracker reports:
//   - when a block released while another stream uses it (record_stream) is free: attached before
//     the first record_stream;
//   - requested sizes and streams of blocks that a graph pool restores: attached before that;
//   - expandable segments: attached at once if they are configured, and if torch's reserved total
//     differs from that of the seen segments.
// Attaching takes the lock of one device after the other, so each free is reported fully or not at
// all.

// relaxed: both are set once, before the first allocation.
Host g_installed_host{};
cca::CUDAAllocator* g_native = nullptr;
cca::CUDAAllocator* g_ours = nullptr;
std::once_flag g_tracker_attached;

// Other segments come from cudaMalloc and are recorded there. Older entries do not name the pool.
template <class Entry>
bool is_of_own_allocator(const Entry& entry) {
    if constexpr (requires { entry.mempool_; }) {
        return has_own_allocator(entry.mempool_);
    }
    return false;
}

void on_trace_entry(const cca::TraceEntry& entry) {
    using Entry = cca::TraceEntry;
    const auto address = static_cast<uint64_t>(entry.addr_);
    const auto segment = [&](format::SegmentAction action) {
        g_installed_host.segment(static_cast<uint32_t>(action),
                                 entry.device_,
                                 reinterpret_cast<void*>(entry.stream_),
                                 address,
                                 entry.size_);
    };
    switch (entry.action_) {
        case Entry::ALLOC:
            g_installed_host.traced_alloc(
                address, entry.size_, reinterpret_cast<void*>(entry.stream_));
            break;
        case Entry::FREE_COMPLETED:
            g_installed_host.free_completed(address);
            break;
        case Entry::SEGMENT_ALLOC:
        case Entry::SEGMENT_FREE:
            if (is_of_own_allocator(entry)) {
                segment(entry.action_ == Entry::SEGMENT_ALLOC ? format::SegmentAction::kAlloc
                                                              : format::SegmentAction::kFree);
            }
            break;
        case Entry::SEGMENT_MAP:
            segment(format::SegmentAction::kMap);
            break;
        case Entry::SEGMENT_UNMAP:
            segment(format::SegmentAction::kUnmap);
            break;
        default:
            break;
    }
}

}  // namespace

void attach_tracker_once() {
    std::call_once(g_tracker_attached, [] {
        try {
            g_native->attachAllocatorTraceTracker(on_trace_entry);
            g_installed_host.tracker_attached();
        } catch (const std::exception&) {
            // backend:cudaMallocAsync has no tracker; we see its blocks without one.
        }
    });
}

namespace {

bool expandable_segments_are_configured() {
    for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
        const char* value = getenv(name);
        if (value != nullptr && strstr(value, "expandable_segments") != nullptr) {
            return true;
        }
    }
    return false;
}

uint64_t current_stream(int device) {
    const auto stream = c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device));
    return stream.id() == 0 ? 0 : reinterpret_cast<uint64_t>(stream.stream());
}

}  // namespace

// Observers can be attached once the native allocator is initialised.
void observe_native_allocator() {
    try {
        g_native->attachOutOfMemoryObserver(
            [](int64_t device, size_t requested_bytes, size_t limit_bytes, size_t free_bytes) {
                g_installed_host.out_of_memory(
                    static_cast<int>(device), requested_bytes, free_bytes, limit_bytes);
            });
    } catch (const std::exception&) {
        // backend:cudaMallocAsync has no observers: see AllocScope::call().
    }
    if (expandable_segments_are_configured()) {
        attach_tracker_once();
    }
}

void Delegate::init(int device_count) {
    native_->init(device_count);
    static std::once_flag observed;
    std::call_once(observed, observe_native_allocator);
}

// Also for c10::GetAllocator(kCUDA), which torch.accelerator uses.
void make_current(cca::CUDAAllocator* allocator) {
    cca::allocator.store(allocator);
    c10::SetAllocator(c10::kCUDA, allocator, 0);
}

extern "C" __attribute__((visibility("default"))) InstallResult
peakline_torch_install(const Host* host, Backend backend, Part* part) {
    if (host->interface_version != kInterfaceVersion) {
        return InstallResult::kWrongInterface;
    }
    g_installed_host = *host;
    g_native = cca::allocator.load();
    part->current_stream = current_stream;
    offer_observers(g_installed_host, part);
    offer_gradients(part);
    offer_held_graphs(part);
    offer_tensor_types(part);
    offer_routing(g_installed_host, part);
    const std::string name = g_native->name();
    const bool is_torchs_own = name == "native" || name == "cudaMallocAsync";
    if (is_torchs_own && g_native->initialized()) {
        observe_native_allocator();
        part->attach_tracker = attach_tracker_once;
        return InstallResult::kAlreadyInitialised;
    }
    if (backend == Backend::kObserve) {
        return InstallResult::kInstalled;
    }
    if (backend == Backend::kDelegate || !is_torchs_own) {
        // Never destroyed: blocks are freed until the very end of the process.
        g_ours = new Delegate(g_installed_host, g_native);
        make_current(g_ours);
    } else {
        g_ours = install_pluggable(g_installed_host, backend, g_native);
    }
    part->attach_tracker = attach_tracker_once;
    return is_torchs_own ? InstallResult::kInstalled : InstallResult::kOverProgramsAllocator;
}

// native_build.py sets it. NOLINTNEXTLINE(readability-identifier-naming): kBuildSymbol
extern "C" __attribute__((visibility("default"))) const char peakline_torch_build[] =
    PEAKLINE_TORCH_BUILD;

extern "C" __attribute__((visibility("default"))) bool peakline_torch_is_current() {
    return g_ours == nullptr || cca::allocator.load() == g_ours;
}

}  // namespace peakline::torch_part
