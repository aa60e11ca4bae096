#include "window_blocks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "report/replay/values/device_names.h"

namespace peakline::report {

void WindowBlocks::restore(const Checkpoint& checkpoint) {
    for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
        add(ordinal, checkpoint.blocks[ordinal].shape, {});
    }
}

void WindowBlocks::add(uint64_t ordinal, const AllocationShape& shape, const BlockFacts& facts) {
    TrackedBlock block;
    block.ordinal = ordinal;
    block.block = {shape.context,
                   shape.stream,
                   shape.device,
                   shape.requested_bytes,
                   shape.block_bytes,
                   1,
                   stream_.definitions().tensor_of(ordinal)};
    block.facts = facts;
    slots_.put(ordinal, blocks_.add(block) + 1);
}

void WindowBlocks::on_alloc(const BlockAlloc& block) {
    const uint32_t thread = phases_.last_thread();
    calls_.on_alloc(block.ordinal, block.shape.context, thread, [this](uint64_t ordinal) {
        if (const uint32_t slot = slots_.at(ordinal)) {
            blocks_[slot - 1].facts.within_operator = true;
        }
    });
    BlockFacts facts;
    facts.alloc_event = block.at.event;
    facts.alloc_tick = block.at.tick;
    facts.address = block.address;
    facts.track_thread = thread;
    add(block.ordinal, block.shape, facts);
}

void WindowBlocks::on_free(const BlockFree& block) {
    const uint32_t slot = slots_.at(block.ordinal);
    if (is_main_over_ || slot == 0) {
        return;
    }
    BlockFacts& facts = blocks_[slot - 1].facts;
    facts.free_context = facts.free_context != 0
                             ? facts.free_context
                             : stream_.definitions().known_context(block.context);
    if (!block.leaves(request_.measure)) {
        return;
    }
    facts.free_event = block.at.event;
    facts.free_tick = block.at.tick;
    facts.within_operator = calls_.on_free(block.ordinal);
    if (window_.overlaps(facts.alloc_event, facts.free_event)) {
        freed_.push_back(blocks_[slot - 1]);
    }
    blocks_.remove(slot - 1);
    slots_.remove(block.ordinal);
}

LiveBlocks WindowBlocks::take(uint32_t device, bool is_sum) {
    slots_.for_each(stream_.next_ordinal(), [&](uint64_t ordinal) {
        const TrackedBlock& block = blocks_[slots_.at(ordinal) - 1];
        if (window_.overlaps(block.facts.alloc_event, block.facts.free_event)) {
            freed_.push_back(block);
        }
    });
    LiveBlocks lived;
    for (const TrackedBlock& one : freed_) {
        if (is_counted(is_sum ? std::nullopt : std::optional(device), one.block.device)) {
            lived.blocks.push_back(one);
            const bool in_blocks = request_.measure == format::Measure::kAllocated;
            lived.level_bytes += in_blocks ? one.block.block_bytes : one.block.requested_bytes;
        }
    }
    std::sort(lived.blocks.begin(), lived.blocks.end(), [](const auto& a, const auto& b) {
        return a.ordinal < b.ordinal;
    });
    freed_.clear();
    return lived;
}

}  // namespace peakline::report
