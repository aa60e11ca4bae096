// Finds and counts repeated shapes of allocation: a shape (context, device, stream, sizes) becomes
// a class of the trace on its second sighting. Used by the trace writer. Not thread safe,
// no malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloc_event.h"
#include "allocator/record/tables/mapped_array.h"
#include "allocator/record/tables/mix64.h"
#include "allocator/record/tables/numbered_cache.h"
#include "allocator/record/tables/predictor.h"
#include "allocator/record/tables/prefetch.h"
#include "trace_totals.h"

namespace peakline::record {

struct alignas(kCacheLine) ClassSlot {
    uint64_t requested_bytes;
    uint64_t block_bytes;
    uint32_t context;
    uint32_t stream;
    uint32_t device;
    uint32_t class_id;      // 0: not defined
    uint64_t record_count;  // of this shape, not yet in the totals
    uint32_t trace;         // the trace that the slot belongs to
    uint32_t logged_at;     // for ClassTable's predictor
};

class ClassTable {
public:
    // False when memory cannot be mapped.
    bool init() {
        return slots_.capacity() != 0 ||
               (slots_.reserve(kSlots + 1) && slots_.resize_untouched(1) && numbers_.reserve(1) &&
                numbers_.resize_untouched(1));
    }
    // Slots of an earlier trace stay in memory and count as never seen.
    void begin_trace() { ++trace_; }

    // The slot of the shape of `event` if it is a repeated one; else nullptr, and the shape gets a
    // slot. A shape that loses its slot, because its set is full, is counted in `totals`.
    ClassSlot* count(const AllocEvent& event, TraceTotals& totals) {
        uint32_t number = sequence_.predicted();
        if (__builtin_expect(has(number, event), 1)) {
            sequence_.hit([this](uint32_t slot) { return &slots_[slot].logged_at; });
        } else {
            number = find_slow(event, totals);
            if (number == 0) {
                return nullptr;
            }
        }
        __builtin_prefetch(&slots_[sequence_.predicted()]);
        ++slots_[number].record_count;
        return &slots_[number];
    }

    // `slot` is this class, beginning with the record that is being counted.
    static void define(ClassSlot& slot, uint32_t class_id, TraceTotals& totals);

    // Adds the records that are not yet in the totals.
    void add_to(TraceTotals& totals);

private:
    static constexpr uint32_t kSlots = 1U << 16;

    bool has(uint32_t number, const AllocEvent& event) const {
        return is_used(number) && is_same_shape(slots_[number], event);
    }
    bool is_used(uint32_t number) const {
        return number < slots_.size() && slots_[number].trace == trace_;
    }

    // Only chooses a slot. Uses registers: a hash of the struct's bytes would wait until they are
    // in memory.
    static uint64_t shape_hash(const AllocEvent& event) {
        const uint64_t ids =
            event.context | uint64_t{event.stream} << 32U | uint64_t{event.device} << 48U;
        return mix64(mix64(event.requested_bytes ^ event.block_bytes << 20U) ^ ids);
    }
    static bool is_same_shape(const ClassSlot& slot, const AllocEvent& event) {
        return slot.requested_bytes == event.requested_bytes &&
               slot.block_bytes == event.block_bytes && slot.context == event.context &&
               slot.stream == event.stream && slot.device == event.device;
    }
    static void add_slot(ClassSlot& slot, TraceTotals& totals);
    // 0: the shape had no slot.
    [[gnu::noinline]] uint32_t find_slow(const AllocEvent& event, TraceTotals& totals);
    uint32_t take_slot(const AllocEvent& event, TraceTotals& totals);

    MappedArray<ClassSlot> slots_;               // the first stays free
    MappedArray<EntryNumbers<kSlots>> numbers_;  // one
    uint32_t trace_ = 0;
    SequencePredictor<8192> sequence_{};
};

}  // namespace peakline::record
