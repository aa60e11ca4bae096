// Blocks that were allocated before the hooks were in place.
//
// Note [Blocks from before]
// The program may run while we install the hooks and query torch for its blocks, so torch's list is
// of some moment in between. For an address with an event since the hooks were installed, the
// recorder is right: the event came after the list was made, or the list includes it. So the live
// set keeps the slots of all these addresses, including those of unknown blocks that were freed,
// and adopt() skips a block if its address has a slot. Until then torch's totals are not compared
// with ours.
#include "recorder.h"

namespace peakline::record {

void Recorder::begin_adoption() {
    const LockGuard guard(lock_);
    is_adopting_ = usable_;
    live_set_.keep_freed(usable_);
}

void Recorder::remember_freed(uint64_t address) {
    if (live_set_.find_slot(address) != nullptr) {
        return;
    }
    if (LiveBlock* const block = live_set_.add(address)) {
        live_set_.erase(block);
    }
}

uint64_t Recorder::adopt(const AdoptedBlock* blocks, size_t count) {
    const LockGuard guard(lock_);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count && is_adopting_; ++i) {
        const AdoptedBlock& block = blocks[i];
        const uint64_t address =
            block.address != 0 ? block.address : baseline_address(block.device);
        if (live_set_.find_slot(address) != nullptr || !put_alloc(AllocEvent{address,
                                                                             block.requested_bytes,
                                                                             block.block_bytes,
                                                                             untraced_context_,
                                                                             block.stream,
                                                                             block.device},
                                                                  0)) {
            continue;
        }
        if (block.is_deferred) {
            LiveBlock* const added = live_set_.find(address);
            drop_from_allocated(added);
            added->flags |= kFreeRequested;
        } else {
            bytes += block.block_bytes;
        }
    }
    is_adopting_ = false;
    live_set_.keep_freed(false);
    fetch_ahead();
    return bytes;
}

}  // namespace peakline::record
