// The driver's allocations that are still live, by key. The caller's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/format/events.h"
#include "allocator/record/tables/hash_table.h"
#include "allocator/record/tables/mix64.h"

namespace peakline::preload {

struct DriverBlock {
    uint64_t key;    // in its space, see PeaklineKeySpace
    uint64_t bytes;  // 0: not memory of this process, or unknown
    uint64_t owner;  // as in format::DriverAlloc
    uint32_t context;
    uint32_t stream;
    // Only for physical memory, which lives as long as it has a handle or a mapping, and for opened
    // memory, which lives as long as it was opened more often than closed.
    uint32_t handles;
    uint32_t mappings;
    uint8_t space;  // PeaklineKeySpace
    uint8_t kind;   // format::DriverKind
    uint8_t device;
    uint8_t flags;         // format::DriverAllocFlags
    uint32_t made_for;     // string, see format::MadeFor; 0: not known
    uint32_t shared_name;  // string, see format::SharedMemory
    uint32_t is_shared;
    uint32_t is_in_table;

    static uint64_t hash_of(uint32_t space, uint64_t key) {
        return record::mix64((key >> 4U) + space);
    }
    bool is_used() const { return is_in_table != 0; }
    uint64_t hash() const { return hash_of(space, key); }
    format::DriverKind driver_kind() const { return static_cast<format::DriverKind>(kind); }
};

class DriverBlocks : public record::HashTable<DriverBlock> {
public:
    bool init() { return HashTable::init(kFirstSlots); }

    // nullptr if absent. Valid until the next insert or remove.
    DriverBlock* find(uint32_t space, uint64_t key) {
        return HashTable::find(DriverBlock::hash_of(space, key), [=](const DriverBlock& one) {
            return one.key == key && one.space == space;
        });
    }
    // Replaces a block with the same key, whose end was missed. Returns false when out of memory.
    bool insert(DriverBlock block) {
        block.is_in_table = 1;
        if (DriverBlock* const known = find(block.space, block.key)) {
            *known = block;
            return true;
        }
        return add(block) != nullptr;
    }

private:
    static constexpr size_t kFirstSlots = 1024;
};

}  // namespace peakline::preload
