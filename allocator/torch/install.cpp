// Entry of the part compiled against torch: puts the chosen backend in place and attaches the
// observers. Called once by libpeakline.so, before CUDA is initialised, with the GIL held.
#include <atomic>
#include <exception>
#include <string>

#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include "allocator/record/trace_format.h"
#include "delegate.h"
#include "pluggable_install.h"

namespace peakline::torch_part {
namespace {

// relaxed: both are set once, before the first allocation.
Host g_installed_host{};
cca::CUDAAllocator* g_native = nullptr;
cca::CUDAAllocator* g_ours = nullptr;
std::atomic<bool> g_tracker_attached{false};

void on_trace_entry(const cca::TraceEntry& entry) {
    using Entry = cca::TraceEntry;
    const Host& host = g_installed_host;
    const auto address = static_cast<uint64_t>(entry.addr_);
    const auto segment = [&](format::SegmentAction action) {
        host.segment(static_cast<uint32_t>(action),
                     entry.device_,
                     reinterpret_cast<void*>(entry.stream_),
                     address,
                     entry.size_);
    };
    switch (entry.action_) {
        case Entry::ALLOC:
            host.traced_alloc(address, entry.size_, reinterpret_cast<void*>(entry.stream_));
            break;
        case Entry::FREE_COMPLETED:
            host.free_completed(address);
            break;
        case Entry::SEGMENT_ALLOC:
            segment(format::SegmentAction::kAlloc);
            break;
        case Entry::SEGMENT_FREE:
            segment(format::SegmentAction::kFree);
            break;
        case Entry::SEGMENT_MAP:
            segment(format::SegmentAction::kMap);
            break;
        case Entry::SEGMENT_UNMAP:
            segment(format::SegmentAction::kUnmap);
            break;
        case Entry::OOM:
            host.out_of_memory(entry.device_, entry.size_, address);
            break;
        default:
            break;
    }
}

// AccumulateGrad has the largest unsigned number, which arrives here as -1.
std::unique_ptr<at::ObserverContext> on_node_begin(const at::RecordFunction& function) {
    g_installed_host.begin_node(function.name(), function.seqNr(), function.forwardThreadId());
    return nullptr;
}

void on_node_end(const at::RecordFunction&, at::ObserverContext*) {
    g_installed_host.end_node();
}

std::unique_ptr<at::ObserverContext> on_scope_begin(const at::RecordFunction& function) {
    g_installed_host.begin_scope(function.name());
    return nullptr;
}

void on_scope_end(const at::RecordFunction& function, at::ObserverContext*) {
    g_installed_host.end_scope(function.name());
}

// Nodes of the backward pass, and record_function regions: torch opens one around every step of
// an optimizer, zero_grad, and every batch of a loader.
void observe_functions() {
    at::addGlobalCallback(at::RecordFunctionCallback(&on_node_begin, &on_node_end)
                              .needsInputs(false)
                              .scopes({at::RecordScope::BACKWARD_FUNCTION}));
    at::addGlobalCallback(at::RecordFunctionCallback(&on_scope_begin, &on_scope_end)
                              .needsInputs(false)
                              .scopes({at::RecordScope::USER_SCOPE}));
}

}  // namespace

void attach_tracker_once() {
    if (g_tracker_attached.exchange(true)) {
        return;
    }
    try {
        g_native->attachAllocatorTraceTracker(on_trace_entry);
    } catch (const std::exception&) {
        // backend:cudaMallocAsync has no tracker: segments stay unknown, blocks are seen all the
        // same.
    }
}

// The native allocator must be initialised before a tracker can be attached.
void Delegate::init(int device_count) {
    native_->init(device_count);
    attach_tracker_once();
}

// Also for c10::GetAllocator(kCUDA), which torch.accelerator uses.
void make_current(cca::CUDAAllocator* allocator) {
    cca::allocator.store(allocator);
    c10::SetAllocator(c10::kCUDA, allocator, 0);
}

}  // namespace peakline::torch_part

extern "C" __attribute__((visibility("default"))) peakline::torch_part::InstallResult
peakline_torch_install(const peakline::torch_part::Host* host,
                       peakline::torch_part::Backend backend,
                       const void*) {
    using namespace peakline::torch_part;
    if (host->interface_version != kInterfaceVersion) {
        return InstallResult::kWrongInterface;
    }
    g_installed_host = *host;
    g_native = cca::allocator.load();
    if (backend == Backend::kObserve) {
        observe_functions();
        return InstallResult::kInstalled;
    }
    const std::string name = g_native->name();
    const bool is_torchs_own = name == "native" || name == "cudaMallocAsync";
    if (is_torchs_own && g_native->initialized()) {
        return InstallResult::kAlreadyInitialised;
    }
    if (backend == Backend::kDelegate || !is_torchs_own) {
        // Never destroyed: blocks are freed until the very end of the process.
        g_ours = new Delegate(g_installed_host, g_native);
        make_current(g_ours);
    } else {
        g_ours = install_pluggable(g_installed_host, backend, g_native);
    }
    observe_functions();
    return is_torchs_own ? InstallResult::kInstalled : InstallResult::kOverProgramsAllocator;
}

extern "C" __attribute__((visibility("default"))) bool peakline_torch_is_current() {
    using namespace peakline::torch_part;
    return g_ours == nullptr || cca::allocator.load() == g_ours;
}
