// Allocations and frees: the live set, levels and peaks, and their records.
#include <algorithm>

#include "opaque.h"
#include "recorder.h"

namespace peakline::record {
namespace {

constexpr size_t kSideCapacity = size_t{1} << 24;

void fill(LiveBlock& block, const AllocEvent& event, uint8_t flags) {
    block.requested_bytes = event.requested_bytes;
    block.block_bytes = event.block_bytes;
    block.context = event.context;
    block.stream = static_cast<uint16_t>(std::min<uint32_t>(event.stream, kManyStreams));
    block.device = static_cast<uint8_t>(event.device);
    block.flags = flags;
}

}  // namespace

DeviceLevels* Recorder::device_levels_slow(uint32_t device) {
    if (device >= format::kDeviceCount) {
        return nullptr;
    }
    DeviceLevels& levels = devices_[device];
    if (!levels.used) {
        if (!levels.allocated.init(kSideCapacity) || !levels.requested.init(kSideCapacity)) {
            return nullptr;
        }
        levels.used = true;
        used_gpus_.fetch_add(format::is_of_host(device) ? 0 : 1, std::memory_order_relaxed);
        if (is_tracing()) {
            const uint64_t tick = clock_.now_tick();
            levels.allocated.start(next_ordinal_, false, tick);
            levels.requested.start(next_ordinal_, false, tick);
        }
        update_phases();
    }
    return &levels;
}

LiveBlock* Recorder::add_block(const AllocEvent& event, LiveBlock* erased, uint8_t flags) {
    DeviceLevels* levels = device_levels(event.device);
    LiveBlock* block = levels != nullptr ? live_set_.add(event.address, erased) : nullptr;
    if (block == nullptr) {
        ++counters_.records_dropped;
        counters_.bytes_dropped += event.block_bytes;
        return nullptr;
    }
    fill(*block, event, flags);
    return block;
}

uint64_t Recorder::count_new(DeviceLevels& levels, LiveBlock& block) {
    block.ordinal = next_ordinal_++;
    ++levels.allocs;
    return clock_.event_tick();
}

void Recorder::count_freed(DeviceLevels& levels, const LiveBlock& block) {
    ++levels.frees;
    levels.allocated.on_free(block, block.block_bytes);
}

uint64_t Recorder::count_alloc(DeviceLevels& levels, LiveBlock& block, bool is_traced) {
    const uint64_t tick = count_new(levels, block);
    live_bytes_ += gpu_bytes_of(block);
    if (is_traced) {
        levels.allocated.on_alloc(block.ordinal, block.block_bytes, tick);
        levels.requested.on_alloc(block.ordinal, block.requested_bytes, tick);
    } else {
        levels.allocated.on_untraced_alloc(block.ordinal, block.block_bytes, tick);
        levels.requested.on_untraced_alloc(block.ordinal, block.requested_bytes, tick);
    }
    if (phases_.is_active()) {
        phases_.on_alloc(block, tick, is_traced);
    }
    return tick;
}

void Recorder::drop_from_allocated(LiveBlock* block) {
    count_freed(devices_[block->device], *block);
    live_bytes_ -= gpu_bytes_of(*block);
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
        writer_.put_free(FreeEvent{back, 0, FreeEvent::Kind::kCompleted}, tick, live_bytes_);
    }
    devices_[block->device].requested.on_free(*block, block->requested_bytes);
    if (phases_.is_active()) {
        phases_.on_free_requested(*block);
    }
    live_set_.erase(block);
    check_writer();
}

bool Recorder::record_predicted_alloc(const AllocEvent& event, uint64_t torch_total_bytes) {
    if (!writer_.can_repeat()) [[unlikely]] {
        return false;  // without a trace there may be no block either
    }
    // In a register: four bytes of code at every use instead of eight.
    const PredictedAlloc& predicted = *opaque(&predictor_.predicted());
    LiveBlock& erased = *next_block_;
    if (erased.address != event.address || LiveSet::is_live(erased) ||
        !predicted.is_shape_of(event) || !writer_.means_the_same(predicted.written)) [[unlikely]] {
        return false;
    }
    DeviceLevels& levels = *opaque(&devices_[event.device]);
    if (levels.allocated.level_bytes() + event.block_bytes != torch_total_bytes) [[unlikely]] {
        return false;
    }
    LiveBlock& block = *live_set_.add(event.address, &erased);
    fill(block, event, 0);
    const uint64_t tick = count_new(levels, block);
    live_bytes_ += event.block_bytes;  // of a GPU: no report has a total of the host
    levels.allocated.on_alloc_while_tracing(block.ordinal, event.block_bytes, tick);
    levels.requested.on_alloc_while_tracing(block.ordinal, event.requested_bytes, tick);
    writer_.repeat_alloc(predicted.written, event.address, tick, live_bytes_);
    predictor_.hit();
    fetch_ahead();
    return true;
}

bool Recorder::record_predicted_free(uint64_t address, uint64_t torch_total_bytes) {
    if (!writer_.can_repeat()) [[unlikely]] {
        return false;
    }
    LiveBlock& block = *next_block_;
    if (block.address != address || (block.flags & (kFreed | kFreeRequested)) != 0 ||
        !predictor_.predicts_free()) [[unlikely]] {
        return false;
    }
    DeviceLevels& levels = *opaque(&devices_[block.device]);
    if (levels.allocated.level_bytes() - block.block_bytes != torch_total_bytes) [[unlikely]] {
        return false;
    }
    const uint64_t tick = clock_.event_tick();
    count_freed(levels, block);
    live_bytes_ -= block.block_bytes;
    levels.requested.on_free(block, block.requested_bytes);
    writer_.repeat_free(next_ordinal_ - block.ordinal, tick, live_bytes_);
    live_set_.erase(&block);
    predictor_.hit();
    fetch_ahead();
    return true;
}

bool Recorder::put_alloc(const AllocEvent& event, uint8_t flags) {
    LiveBlock* const before = live_set_.find_slot(event.address);
    // If the address is still live, we missed its free.
    if (before != nullptr && LiveSet::is_live(*before)) {
        remove_block(before, clock_.event_tick());
    }
    LiveBlock* const block = add_block(event, before, flags);
    if (block == nullptr) {
        return false;
    }
    const bool is_traced = event.context != untraced_context_;
    const uint64_t tick = count_alloc(devices_[event.device], *block, is_traced);
    const WrittenAlloc written = writer_.put_alloc(event, tick, live_bytes_);
    if (flags == 0 && is_traced) {
        predictor_.observe({live_set_.slot_of(block),
                            written,
                            event.context,
                            event.stream,
                            event.device,
                            0,
                            event.requested_bytes,
                            event.block_bytes});
    }
    check_writer();
    return true;
}

[[gnu::flatten]] void Recorder::record_unpredicted_alloc(AllocEvent event,
                                                         uint64_t torch_total_bytes) {
    if (!usable_) {
        return;
    }
    const uint8_t flags = torch_total_bytes != kUnknownTotal ? 0 : kUnreported;
    if (put_alloc(event, flags)) {
        check_total(event.device, torch_total_bytes);
    }
    fetch_ahead();
}

[[gnu::flatten]] void Recorder::record_alloc(const AllocEvent& event, uint64_t torch_total_bytes) {
    open_if_waiting();
    {
        const LockGuard guard(lock_);
        if (record_predicted_alloc(event, torch_total_bytes)) [[likely]] {
            return;
        }
        record_unpredicted_alloc(event, torch_total_bytes);
    }
    report_trouble_unlocked();
}

[[gnu::flatten]] void Recorder::record_unpredicted_free(uint64_t address,
                                                        uint32_t device,
                                                        FreeKind kind,
                                                        uint64_t torch_total_bytes,
                                                        uint32_t context) {
    if (!usable_) {
        return;
    }
    LiveBlock* block = find_block(address);
    if (block == nullptr) {
        free_of_unknown_slow(address, device, torch_total_bytes);
    } else if (kind == FreeKind::kCompleted) {
        remove_block(block, clock_.event_tick(), context);
        predictor_.observe_free(live_set_.slot_of(block));
    } else if ((block->flags & kFreeRequested) == 0) {
        const uint64_t back = next_ordinal_ - block->ordinal;
        drop_from_allocated(block);
        block->flags |= kFreeRequested;
        writer_.put_free(
            FreeEvent{back, context, FreeEvent::Kind::kDeferred}, clock_.event_tick(), live_bytes_);
        check_writer();
    }
    if (block != nullptr) {
        check_total(block->device, torch_total_bytes);
    }
    fetch_ahead();
}

[[gnu::flatten]] void Recorder::record_free(uint64_t address,
                                            uint32_t device,
                                            FreeKind kind,
                                            uint64_t torch_total_bytes,
                                            uint32_t context) {
    {
        const LockGuard guard(lock_);
        if (kind == FreeKind::kCompleted && context == 0 &&
            record_predicted_free(address, torch_total_bytes)) [[likely]] {
            return;
        }
        record_unpredicted_free(address, device, kind, torch_total_bytes, context);
    }
    report_trouble_unlocked();
}

void Recorder::free_of_unknown_slow(uint64_t address, uint32_t device, uint64_t torch_total_bytes) {
    ++counters_.unknown_frees;
    if (is_adopting_) {
        remember_freed(address);
    }
    if (device < format::kDeviceCount && devices_[device].used) {
        check_total(device, torch_total_bytes);
    }
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
        } else if (is_adopting_) {
            remember_freed(address);
        }
    }
    report_trouble_unlocked();
}

void Recorder::correct_baseline_slow(uint32_t device, uint64_t torch_total_bytes) {
    if (is_adopting_) {
        return;
    }
    DeviceLevels& levels = devices_[device];
    ++counters_.baseline_corrections;
    if (LiveBlock* baseline = live_set_.find(baseline_address(device))) {
        remove_block(baseline, clock_.event_tick());
    }
    if (torch_total_bytes > levels.allocated.level_bytes()) {
        const uint64_t bytes = torch_total_bytes - levels.allocated.level_bytes();
        const uint64_t address = baseline_address(device);
        put_alloc(AllocEvent{address, bytes, bytes, untraced_context_, 0, device}, 0);
    }
}

}  // namespace peakline::record
