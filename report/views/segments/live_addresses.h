// The addresses of the live blocks of a device, event by event.
#pragma once

#include <cstdint>

#include "report/replay/blocks/block_stream.h"
#include "report/replay/blocks/ordinal_table.h"

namespace peakline::report {

class LiveAddresses {
public:
    // `stream` must outlive this.
    explicit LiveAddresses(const BlockStream& stream)
        : stream_(stream), slot_of_(stream.reader().max_alloc_count()) {}

    // Adds the device's blocks at the checkpoint where a stream begins.
    void restore(const Checkpoint& checkpoint, uint32_t device) {
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            const BaselineBlock& block = checkpoint.blocks[ordinal];
            if (block.shape.device == device) {
                slot_of_.put(ordinal, addresses_.add(block.address) + 1);
            }
        }
    }
    // For blocks of the device; a free comes while its block is still in the stream's table.
    void on_alloc(const BlockAlloc& block) {
        slot_of_.put(block.ordinal, addresses_.add(block.address) + 1);
    }
    // A block that another stream still uses stays until that use has ended.
    void on_free(const BlockFree& block) {
        if (block.kind != FreeKind::kDeferred && slot_of_.at(block.ordinal) != 0) {
            addresses_.remove(slot_of_.at(block.ordinal) - 1);
            slot_of_.remove(block.ordinal);
        }
    }

    // Calls visit(ordinal, shape, address) for each block.
    template <class Visit>
    void for_each(Visit visit) const {
        slot_of_.for_each(stream_.next_ordinal(), [&](uint64_t ordinal) {
            visit(ordinal, *stream_.table().shape(ordinal), addresses_[slot_of_.at(ordinal) - 1]);
        });
    }

private:
    const BlockStream& stream_;
    OrdinalTable slot_of_;  // of live blocks, plus one
    SlotPool<uint64_t> addresses_;
};

}  // namespace peakline::report
