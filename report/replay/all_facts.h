// The life of every block of a trace, in 12 bytes each: when it was made and freed, and whether its
// operator freed it. For views that follow the whole run.
#pragma once

#include <algorithm>
#include <cstdint>

#include "operator_calls.h"
#include "report/replay/blocks/block_stream.h"
#include "report/replay/blocks/ordinal_table.h"
#include "report/replay/phases/phase_replay.h"
#include "report/replay/values/block_facts.h"

namespace peakline::report {

class AllFacts : public BlockFollower {
public:
    // Listens after `phases`. Both must outlive the pass. Throws TraceError when the system refuses
    // address space.
    AllFacts(const TraceReader& reader,
             const PhaseRules& rules,
             format::Measure measure,
             const PhaseReplay& phases)
        : measure_(measure), phases_(phases), calls_(rules) {
        const uint64_t count = reader.max_alloc_count() + 1;
        map_entries(facts_, count, count);
    }

    void on_alloc(const BlockAlloc& block) {
        const uint32_t thread = phases_.last_thread();
        calls_.on_alloc(block.ordinal, block.shape.context, thread, [this](uint64_t ordinal) {
            facts_[ordinal].thread_and_within |= kWithin;
        });
        Packed& packed = facts_[block.ordinal];
        packed.set_alloc_event(block.at.event);
        packed.thread_and_within = static_cast<uint16_t>(std::min(thread, kMaxThread) << 1);
    }

    void on_free(const BlockFree& block) {
        if (is_main_over_ || !block.leaves(measure_)) {
            return;
        }
        Packed& packed = facts_[block.ordinal];
        packed.set_life(block.at.event - packed.alloc_event());
        if (calls_.on_free(block.ordinal)) {
            packed.thread_and_within |= kWithin;
        }
    }

    // Blocks freed after main ended count as held to the end.
    void on_main_end(EventTime) { is_main_over_ = true; }

    // Events and thread only, without times, address and free context.
    BlockFacts of(uint64_t ordinal) const {
        const Packed& packed = facts_[ordinal];
        BlockFacts facts;
        facts.alloc_event = packed.alloc_event();
        facts.track_thread = packed.thread_and_within >> 1;
        facts.within_operator = (packed.thread_and_within & kWithin) != 0;
        if (packed.life() != 0) {
            facts.free_event = facts.alloc_event + packed.life();
        }
        return facts;
    }

private:
    static constexpr uint16_t kWithin = 1;
    static constexpr uint32_t kMaxThread = UINT16_MAX >> 1;

    // All zero: made before the first event, never freed.
    struct Packed {
        uint32_t alloc_low = 0;
        uint32_t life_low = 0;  // events from alloc to free; 0: never freed
        uint8_t alloc_high = 0;
        uint8_t life_high = 0;
        uint16_t thread_and_within = 0;

        uint64_t alloc_event() const { return uint64_t{alloc_high} << 32 | alloc_low; }
        uint64_t life() const { return uint64_t{life_high} << 32 | life_low; }
        void set_alloc_event(uint64_t event) {
            alloc_low = static_cast<uint32_t>(event);
            alloc_high = static_cast<uint8_t>(event >> 32);
        }
        void set_life(uint64_t events) {
            life_low = static_cast<uint32_t>(events);
            life_high = static_cast<uint8_t>(events >> 32);
        }
    };
    static_assert(sizeof(Packed) == 12);

    format::Measure measure_;
    const PhaseReplay& phases_;
    OperatorCalls calls_;
    record::MappedArray<Packed> facts_;  // by ordinal
    bool is_main_over_ = false;
};

}  // namespace peakline::report
