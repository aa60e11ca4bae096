// The live requests of the driver by kind and key: a table with open addressing in mapped memory.
// Used by StandingRecords under the recorder's lock. Never calls malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/format/trace_format.h"
#include "allocator/record/tables/mapped_array.h"

namespace peakline::record {

struct DriverRequest {
    format::DriverAlloc record = {};  // kind 0: an empty slot
    uint64_t made_for = 0;            // string, see format::MadeFor
    bool is_used() const { return static_cast<uint64_t>(record.kind) != 0; }
};

class DriverRequests {
public:
    // False when memory cannot be mapped.
    bool init() {
        count_ = 0;
        return resize(kFirstSlots);
    }

    DriverRequest* find(format::DriverKind kind, uint64_t key) {
        for (size_t i = slot_of(kind, key); slots_[i].is_used(); i = (i + 1) & mask_) {
            if (slots_[i].record.key == key && slots_[i].record.kind == kind) {
                return &slots_[i];
            }
        }
        return nullptr;
    }

    // One that find() did not find. False when memory ran out.
    bool add(const format::DriverAlloc& record) {
        if ((count_ + 1) * 2 > slots_.size() && !resize(slots_.size() * 2)) {
            return false;
        }
        place(slots_, mask_, {record, 0});
        ++count_;
        return true;
    }

    // Moves those behind it up, so that no search ends too early.
    void remove(DriverRequest* request) {
        auto hole = static_cast<size_t>(request - slots_.data());
        for (size_t i = (hole + 1) & mask_; slots_[i].is_used(); i = (i + 1) & mask_) {
            const size_t wanted = slot_of(slots_[i].record.kind, slots_[i].record.key);
            if (((i - wanted) & mask_) >= ((i - hole) & mask_)) {
                slots_[hole] = slots_[i];
                hole = i;
            }
        }
        slots_[hole] = DriverRequest{};
        --count_;
    }

    template <class Visit>
    void for_each(Visit visit) const {
        for (const DriverRequest& request : slots_) {
            if (request.is_used()) {
                visit(request);
            }
        }
    }

private:
    static constexpr size_t kFirstSlots = 256;

    static size_t hash_of(format::DriverKind kind, uint64_t key) {
        const uint64_t mixed =
            (key + static_cast<uint64_t>(kind)) * 0x9E3779B97F4A7C15;  // golden ratio
        return static_cast<size_t>(mixed >> 24);
    }
    size_t slot_of(format::DriverKind kind, uint64_t key) const {
        return hash_of(kind, key) & mask_;
    }
    static void place(MappedArray<DriverRequest>& slots, size_t mask, const DriverRequest& one) {
        size_t i = hash_of(one.record.kind, one.record.key) & mask;
        while (slots[i].is_used()) {
            i = (i + 1) & mask;
        }
        slots[i] = one;
    }

    bool resize(size_t slot_count) {
        MappedArray<DriverRequest> resized;
        if (!resized.reserve(slot_count) || !resized.resize_untouched(slot_count)) {
            return false;
        }
        if (count_ != 0) {
            for_each([&](const DriverRequest& one) { place(resized, slot_count - 1, one); });
        }
        slots_.swap(resized);
        mask_ = slot_count - 1;
        return true;
    }

    MappedArray<DriverRequest> slots_;
    size_t mask_ = 0;
    size_t count_ = 0;
};

}  // namespace peakline::record
