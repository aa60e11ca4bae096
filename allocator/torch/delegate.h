// The delegating allocator: every virtual function of the installed torch's CUDAAllocator forwards
// to PyTorch's own allocator, so statistics, out-of-memory, graphs, pools, IPC, record_stream and
// snapshots are unchanged. Only allocation opens a scope around the call. Blocks keep the native
// deleter: their frees are seen when the native allocator reports them. PEAKLINE_HAS_* macros,
// which build.py derives from the header, show which optional functions exist; build.py also checks
// that every slot of the vtable is ours.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <c10/cuda/CUDACachingAllocator.h>

#include "routing.h"
#include "torch_part.h"

namespace peakline::torch_part {

namespace cca = c10::cuda::CUDACachingAllocator;

// See Note [A tracker only where needed] in install.cpp.
void attach_tracker_once();
// Attaches everything that a backend over the native allocator needs. Call once, after its init().
void observe_native_allocator();

class Delegate final : public cca::CUDAAllocator {
public:
    Delegate(const Host& host, cca::CUDAAllocator* native) : host_(host), native_(native) {}

    // Allocation: scoped.
    c10::DataPtr allocate(size_t bytes) override;
    void* raw_alloc(size_t bytes) override;
    void* raw_alloc_with_stream(size_t bytes, cudaStream_t stream) override;
#ifdef PEAKLINE_HAS_allocateWithAddress
    c10::DataPtr allocateWithAddress(size_t bytes, void* address) override;
#endif
    void raw_delete(void* address) override;
    void init(int device_count) override;
    void recordStream(const c10::DataPtr& pointer, c10::cuda::CUDAStream stream) override;

    // All other functions: forwarded unchanged.
#include "delegate_forwards.inc"

private:
    using Action = format::AllocatorAction;
    static constexpr int kAllDevices = -1;

    void report(Action action,
                int device,
                c10::MempoolId_t pool = {0, 0},
                uint64_t value = 0) const {
        host_.allocator_called(static_cast<uint32_t>(action), device, number_of(pool), value);
    }
    // Reports the end on every exit of the call.
    class Restore {
    public:
        Restore(const Delegate& delegate, int device) : delegate_(delegate), device_(device) {
            delegate_.report(Action::kRestoreBegun, device_);
        }
        ~Restore() { delegate_.report(Action::kRestoreEnded, device_); }
        Restore(const Restore&) = delete;
        Restore& operator=(const Restore&) = delete;

    private:
        const Delegate& delegate_;
        int device_;
    };
    c10::DataPtr wrap_unreported(c10::DataPtr pointer);

    const Host& host_;
    cca::CUDAAllocator* const native_;
};

// Makes `delegate` the current allocator, for torch.cuda and torch.accelerator.
void make_current(cca::CUDAAllocator* allocator);

}  // namespace peakline::torch_part
