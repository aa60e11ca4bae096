#include "class_table.h"

namespace peakline::record {

void ClassTable::define(ClassSlot& slot, uint32_t class_id, TraceTotals& totals) {
    totals.add_inline_records(slot, slot.record_count - 1);
    slot.record_count = 1;
    slot.class_id = class_id;
}

void ClassTable::add_slot(ClassSlot& slot, TraceTotals& totals) {
    if (slot.class_id != 0) {
        totals.add_class_records(slot.class_id, slot.record_count);
    } else {
        totals.add_inline_records(slot, slot.record_count);
    }
    slot.record_count = 0;
}

uint32_t ClassTable::find_slow(const AllocEvent& event, TraceTotals& totals) {
    const uint32_t known =
        numbers_[0].find(shape_hash(event), [&](uint32_t one) { return has(one, event); });
    const uint32_t number = known != 0 ? known : take_slot(event, totals);
    sequence_.miss(number, &slots_[number].logged_at);
    return known;
}

uint32_t ClassTable::take_slot(const AllocEvent& event, TraceTotals& totals) {
    const uint32_t number =
        numbers_[0].take(shape_hash(event), [this](uint32_t one) { return is_used(one); });
    if (is_used(number)) {
        add_slot(slots_[number], totals);
    }
    slots_.resize_untouched(numbers_[0].taken_count() + 1);
    slots_[number] = ClassSlot{event.requested_bytes,
                               event.block_bytes,
                               event.context,
                               event.stream,
                               event.device,
                               0,
                               1,
                               trace_,
                               0};
    return number;
}

void ClassTable::add_to(TraceTotals& totals) {
    for (ClassSlot& slot : slots_) {
        if (slot.trace == trace_) {
            add_slot(slot, totals);
        }
    }
}

}  // namespace peakline::record
