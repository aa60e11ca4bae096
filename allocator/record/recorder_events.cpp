// Allocations and frees: the live set, levels and peaks, and their records.
#include <algorithm>

#include "recorder.h"

namespace peakline::record {
namespace {

using format::ExtendedType;

constexpr uint64_t kEventsPerClockSync = 1 << 14;
constexpr size_t kSideCapacity = size_t{1} << 24;

// Addresses of baseline blocks: below every real one.
uint64_t baseline_address(uint32_t device) {
    return device + 1;
}

}  // namespace

Recorder::DeviceState* Recorder::device_state_slow(uint32_t device) {
    if (device >= kMaxDevices) {
        return nullptr;
    }
    DeviceState& state = devices_[device];
    if (!state.used) {
        if (!state.allocated.init(kSideCapacity) || !state.requested.init(kSideCapacity)) {
            return nullptr;
        }
        state.used = true;
        if (is_tracing()) {
            const uint64_t tick = clock_.now_tick();
            state.allocated.start(next_ordinal_, false, tick);
            state.requested.start(next_ordinal_, false, tick);
        }
        update_phases();
    }
    return &state;
}

Recorder::DeviceState* Recorder::add_block(const AllocEvent& event, uint32_t hash, uint8_t flags) {
    DeviceState* state = device_state(event.device);
    LiveBlock* block = state != nullptr ? live_set_.add(event.address, hash) : nullptr;
    if (block == nullptr) {
        ++counters_.records_dropped;
        counters_.bytes_dropped += event.block_bytes;
        return nullptr;
    }
    block->ordinal = next_ordinal_;
    block->requested_bytes = event.requested_bytes;
    block->block_bytes = event.block_bytes;
    block->context = event.context;
    block->stream = static_cast<uint16_t>(std::min<uint32_t>(event.stream, kManyStreams));
    block->device = static_cast<uint8_t>(event.device);
    block->flags = flags;
    if (events_until_clock_sync_-- == 0) {
        events_until_clock_sync_ = kEventsPerClockSync;
        clock_.synchronise();
    }
    const uint64_t tick = clock_.event_tick();
    live_bytes_ += event.block_bytes;
    ++state->allocs;
    if (event.context == untraced_context_) {
        state->allocated.on_untraced_alloc(next_ordinal_, event.block_bytes, tick);
        state->requested.on_untraced_alloc(next_ordinal_, event.requested_bytes, tick);
    } else {
        state->allocated.on_alloc(next_ordinal_, event.block_bytes, tick);
        state->requested.on_alloc(next_ordinal_, event.requested_bytes, tick);
    }
    if (phases_.is_active()) {
        phases_.on_alloc(*block, tick, event.context != untraced_context_);
    }
    ++next_ordinal_;
    writer_.put_alloc(event, tick, live_bytes_);
    check_writer();
    return state;
}

void Recorder::drop_from_allocated(LiveBlock* block) {
    DeviceState& state = devices_[block->device];
    live_bytes_ -= block->block_bytes;
    ++state.frees;
    state.allocated.on_free(*block, block->block_bytes);
    if (phases_.is_active()) {
        phases_.on_free_allocated(*block);
    }
}

void Recorder::remove_block(LiveBlock* block, uint64_t tick, uint32_t context) {
    const uint64_t back = next_ordinal_ - block->ordinal;
    if ((block->flags & kFreeRequested) == 0) {
        drop_from_allocated(block);
        writer_.put_free(FreeEvent{back, context, FreeEvent::Kind::kPlain}, tick, live_bytes_);
    } else {
        writer_.put_extended(ExtendedType::kFreeCompleted, &back, 1, tick);
    }
    devices_[block->device].requested.on_free(*block, block->requested_bytes);
    if (phases_.is_active()) {
        phases_.on_free_requested(*block);
    }
    live_set_.erase(block);
    check_writer();
}

[[gnu::flatten]] void Recorder::record_alloc(const AllocEvent& event, uint64_t torch_total_bytes) {
    open_if_waiting();
    {
        const LockGuard guard(lock_);
        if (!usable_) {
            return;
        }
        const uint32_t hash = LiveSet::hash_of(event.address);
        // An address that is still live was freed behind our back.
        if (LiveBlock* stale = live_set_.find(event.address, hash)) {
            remove_block(stale, clock_.event_tick());
        }
        const DeviceState* state =
            add_block(event, hash, torch_total_bytes == kUnknownTotal ? kUnreported : 0);
        if (torch_total_bytes != kUnknownTotal && state != nullptr &&
            state->allocated.level_bytes() != torch_total_bytes) {
            correct_baseline_slow(event.device, torch_total_bytes);
        }
        addresses_.follow_rounds(writer_.rounds());
        fetch_ahead(hash);
    }
    report_trouble_unlocked();
}

[[gnu::flatten]] void Recorder::record_free(uint64_t address,
                                            uint32_t device,
                                            FreeKind kind,
                                            uint64_t torch_total_bytes,
                                            uint32_t context) {
    {
        const LockGuard guard(lock_);
        if (!usable_) {
            return;
        }
        const uint32_t hash = LiveSet::hash_of(address);
        LiveBlock* block = live_set_.find(address, hash);
        if (block == nullptr) {
            ++counters_.unknown_frees;
        } else if (kind == FreeKind::kCompleted) {
            remove_block(block, clock_.event_tick(), context);
        } else if ((block->flags & kFreeRequested) == 0) {
            const uint64_t back = next_ordinal_ - block->ordinal;
            drop_from_allocated(block);
            block->flags |= kFreeRequested;
            writer_.put_free(FreeEvent{back, context, FreeEvent::Kind::kDeferred},
                             clock_.event_tick(),
                             live_bytes_);
            check_writer();
        }
        if (torch_total_bytes != kUnknownTotal && device < kMaxDevices && devices_[device].used &&
            devices_[device].allocated.level_bytes() != torch_total_bytes) {
            correct_baseline_slow(device, torch_total_bytes);
        }
        fetch_ahead(hash);
    }
    report_trouble_unlocked();
}

void Recorder::record_unreported_free(uint64_t address, uint32_t context) {
    {
        const LockGuard guard(lock_);
        LiveBlock* block = usable_ ? live_set_.find(address) : nullptr;
        if (block != nullptr && (block->flags & kUnreported) != 0) {
            remove_block(block, clock_.event_tick(), context);
        }
    }
    report_trouble_unlocked();
}

void Recorder::record_free_completed(uint64_t address) {
    {
        const LockGuard guard(lock_);
        LiveBlock* block = usable_ ? live_set_.find(address) : nullptr;
        if (block != nullptr && (block->flags & kFreeRequested) != 0) {
            remove_block(block, clock_.event_tick());
        }
    }
    report_trouble_unlocked();
}

void Recorder::correct_baseline_slow(uint32_t device, uint64_t torch_total_bytes) {
    DeviceState& state = devices_[device];
    ++counters_.baseline_corrections;
    if (LiveBlock* baseline = live_set_.find(baseline_address(device))) {
        remove_block(baseline, clock_.event_tick());
    }
    if (torch_total_bytes > state.allocated.level_bytes()) {
        const uint64_t bytes = torch_total_bytes - state.allocated.level_bytes();
        const uint64_t address = baseline_address(device);
        add_block(AllocEvent{address, bytes, bytes, untraced_context_, 0, device},
                  LiveSet::hash_of(address),
                  0);
    }
}

}  // namespace peakline::record
