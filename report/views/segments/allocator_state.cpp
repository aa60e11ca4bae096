#include "allocator_state.h"

#include <map>

#include "report/replay/blocks/block_stream.h"
#include "report/views/blocks/median.h"
#include "segment_pieces.h"

namespace peakline::report {
namespace {

constexpr size_t kSetsLookedAt = 64;  // the sets that share most

class StateFollower : public BlockFollower {
public:
    StateFollower(const BlockStream& stream, uint32_t device, uint64_t event)
        : device_(device), event_(event), pieces_(stream.definitions(), device) {
        state_.device = device;
    }

    void before_event(EventTime at) {
        if (at.event <= event_) {
            state_.tick = at.tick;
        } else if (!is_done_) {
            take();
        }
        last_tick_ = main_has_ended_ ? last_tick_ : at.tick;
    }
    // The times when the blocks were made are unknown: they count from here.
    void restore(const Checkpoint& checkpoint) {
        last_tick_ = checkpoint.tick;
        pieces_.restore(checkpoint);
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            const BaselineBlock& block = checkpoint.blocks[ordinal];
            add(ordinal, block.shape, block.address, checkpoint.tick);
            if (block.shape.device == device_) {
                blocks_[ordinal].is_waiting = blocks_[ordinal].is_freed = block.is_deferred;
            }
        }
    }
    void on_main_end(EventTime) { main_has_ended_ = true; }
    void on_alloc(const BlockAlloc& block) {
        add(block.ordinal, block.shape, block.address, block.at.tick);
    }
    void on_free(const BlockFree& block) {
        const auto found = blocks_.find(block.ordinal);
        if (found == blocks_.end()) {
            return;
        }
        StateBlock& freed = found->second;
        if (block.kind != FreeKind::kCompleted && !main_has_ended_) {
            freed.is_freed = true;
            freed.lived_ticks = block.at.tick - freed.made_tick;
        }
        if (is_done_) {
            return;
        }
        if (block.kind == FreeKind::kDeferred) {
            freed.is_waiting = true;
        } else {
            blocks_.erase(found);
        }
    }
    void on_rare(const RareEvent& event, EventTime) {
        if (!is_done_) {
            pieces_.on_rare(event);
        }
    }

    AllocatorState finish() {
        if (!is_done_) {
            take();
        }
        put_blocks();
        return std::move(state_);
    }

private:
    void add(uint64_t ordinal, const AllocationShape& shape, uint64_t address, uint64_t tick) {
        if (shape.device == device_ && !is_done_) {
            blocks_[ordinal] = {
                address,
                shape.block_bytes,
                shape.requested_bytes,
                tick,
                rounded_request(pieces_.settings(), shape.requested_bytes, shape.block_bytes),
                shape.context};
        }
    }

    void take() {
        is_done_ = true;
        state_.segments = pieces_.joined();
        state_.used_pools = pieces_.used_pools();
        state_.settings_fault = pieces_.settings().fault;
    }

    void put_blocks() {
        std::vector<StateBlock> blocks;
        for (auto& [ordinal, block] : blocks_) {
            const uint64_t end_tick = std::max(last_tick_, block.made_tick);
            block.lived_ticks = block.is_freed ? block.lived_ticks : end_tick - block.made_tick;
            blocks.push_back(block);
        }
        std::sort(blocks.begin(), blocks.end(), [](const StateBlock& one, const StateBlock& two) {
            return one.address < two.address;
        });
        auto segment = state_.segments.begin();
        uint64_t covered_to = 0;
        for (const StateBlock& block : blocks) {
            while (segment != state_.segments.end() && segment->end() <= block.address) {
                ++segment;
            }
            // An overlap with another block is damage.
            const bool is_inside = segment != state_.segments.end() &&
                                   block.address >= std::max(segment->address, covered_to) &&
                                   block.bytes <= segment->end() - block.address;
            if (is_inside) {
                segment->blocks.push_back(block);
                covered_to = block.address + block.bytes;
            } else {
                state_.outside_bytes += block.bytes;
            }
        }
    }

    uint32_t device_;
    uint64_t event_;
    bool is_done_ = false;
    bool main_has_ended_ = false;
    uint64_t last_tick_ = 0;                 // last tick of main
    std::map<uint64_t, StateBlock> blocks_;  // by ordinal, of the moment
    SegmentPieces pieces_;
    AllocatorState state_;
};

// Whole units without a block can be returned, the parts before and after them cannot.
void add_units(const StateSegment& segment,
               uint64_t begin,
               uint64_t end,
               std::vector<FreePiece>* pieces) {
    const uint64_t unit = segment.unit_bytes;
    const auto add = [&](uint64_t from, uint64_t to, FreeCause cause) {
        if (from < to) {
            pieces->push_back({from, to - from, cause});
        }
    };
    const uint64_t first = segment.address + (begin - segment.address + unit - 1) / unit * unit;
    const uint64_t last = segment.address + (end - segment.address) / unit * unit;
    if (first >= last) {
        add(begin, end, FreeCause::kPartial);
        return;
    }
    add(begin, first, FreeCause::kPartial);
    add(first, last, FreeCause::kUnit);
    add(last, end, FreeCause::kPartial);
}

void add_live(const StateBlock& block, ReservedCauses* causes) {
    const uint64_t requested = std::min(block.requested_bytes, block.bytes);
    const uint64_t to_512 = std::min(block.bytes, in_least_blocks(requested));
    causes->live_bytes += block.bytes;
    causes->rounding_bytes += to_512 - requested;
    causes->division_bytes += block.rounded_bytes - to_512;
    causes->unsplit_bytes += block.bytes - block.rounded_bytes;
}

}  // namespace

uint64_t rounded_request(const AllocatorSettings& settings,
                         uint64_t requested_bytes,
                         uint64_t block_bytes) {
    return std::min(block_bytes,
                    std::max(in_least_blocks(requested_bytes), settings.round_up(requested_bytes)));
}

AllocatorState find_allocator_state(const TraceReader& reader,
                                    uint32_t device,
                                    uint64_t event,
                                    const Progress& progress) {
    BlockStream stream(reader);
    StateFollower follower(stream, device, event);
    stream.run(progress, follower);
    return follower.finish();
}

const char* cause_name(FreeCause cause) {
    static constexpr const char* kNames[] = {"whole", "pinned", "unit", "partial", "private"};
    return kNames[static_cast<size_t>(cause)];
}

std::vector<FreePiece> free_pieces(const StateSegment& segment, bool is_pool_used) {
    std::vector<FreePiece> pieces;
    const FreeCause plain = segment.blocks.empty() ? FreeCause::kWhole : FreeCause::kPinned;
    uint64_t at = segment.address;
    const auto add_to = [&](uint64_t end) {
        if (at == end) {
            return;
        }
        if (is_pool_used) {
            pieces.push_back({at, end - at, FreeCause::kPrivate});
        } else if (segment.is_expandable) {
            add_units(segment, at, end, &pieces);
        } else {
            pieces.push_back({at, end - at, plain});
        }
    };
    for (const StateBlock& block : segment.blocks) {
        add_to(block.address);
        at = block.address + block.bytes;
    }
    add_to(segment.end());
    return pieces;
}

ReservedCauses find_causes(const AllocatorState& state) {
    ReservedCauses causes;
    for (const StateSegment& segment : state.segments) {
        causes.reserved_bytes += segment.bytes;
        for (const StateBlock& block : segment.blocks) {
            if (block.is_waiting) {
                causes.waiting_bytes += block.bytes;
            } else {
                add_live(block, &causes);
            }
        }
        uint64_t hole_begin = 0;
        uint64_t hole_end = 0;
        for (const FreePiece& piece :
             free_pieces(segment, state.used_pools.count(segment.pool) != 0)) {
            causes.free_bytes[static_cast<size_t>(piece.cause)] += piece.bytes;
            hole_begin = piece.address == hole_end ? hole_begin : piece.address;
            hole_end = piece.address + piece.bytes;
            causes.largest_hole_bytes = std::max(causes.largest_hole_bytes, hole_end - hole_begin);
        }
    }
    return causes;
}

namespace {

void put_lifetimes(std::vector<CountedValue>* lived, SegmentPin* pin) {
    pin->median_ticks = median_of(*lived);
    pin->longest_ticks = lived->back().value;
}

}  // namespace

SegmentPins pins_of(const PinInput& input) {
    std::map<uint32_t, SegmentPin> lines;
    std::map<uint32_t, std::vector<CountedValue>> lived;
    std::map<std::set<uint32_t>, uint64_t> shared;
    for (const PinInput::Block& block : input.blocks) {
        SegmentPin& pin = lines[block.line];
        pin.oldest_tick =
            pin.block_count == 0 ? block.made_tick : std::min(pin.oldest_tick, block.made_tick);
        pin.line = block.line;
        pin.own_bytes += block.bytes;
        ++pin.block_count;
        pin.freed_count += block.is_freed ? 1 : 0;
        lived[block.line].push_back({block.lived_ticks, 1});
    }
    for (auto& [line, ticks] : lived) {
        put_lifetimes(&ticks, &lines[line]);
    }
    for (const PinnedPart& part : input.parts) {
        if (part.lines.size() == 1) {
            SegmentPin& pin = lines[*part.lines.begin()];
            pin.sole_bytes += part.bytes;
            pin.sole_free_bytes += part.bytes - part.used_bytes;
        } else if (!part.lines.empty()) {
            shared[part.lines] += part.bytes;
            for (const uint32_t line : part.lines) {
                lines[line].shared_bytes += part.bytes;
            }
        }
    }
    SegmentPins pins;
    for (const auto& [line, pin] : lines) {
        pins.lines.push_back(pin);
    }
    std::stable_sort(
        pins.lines.begin(), pins.lines.end(), [](const SegmentPin& one, const SegmentPin& two) {
            return one.sole_bytes != two.sole_bytes ? one.sole_bytes > two.sole_bytes
                                                    : one.shared_bytes > two.shared_bytes;
        });
    // Only sets that own a common part can free more than their lines alone.
    std::vector<std::pair<uint64_t, const std::set<uint32_t>*>> largest;
    for (const auto& [set, bytes] : shared) {
        largest.emplace_back(bytes, &set);
    }
    std::stable_sort(largest.begin(), largest.end(), [](const auto& one, const auto& two) {
        return one.first > two.first;
    });
    largest.resize(std::min(largest.size(), kSetsLookedAt));
    for (const auto& [bytes, set] : largest) {
        PinningSet& made = pins.sets.emplace_back(PinningSet{{set->begin(), set->end()}, 0});
        for (const PinnedPart& part : input.parts) {
            const bool is_within =
                !part.lines.empty() &&
                std::includes(set->begin(), set->end(), part.lines.begin(), part.lines.end());
            made.bytes += is_within ? part.bytes : 0;
        }
    }
    std::stable_sort(pins.sets.begin(), pins.sets.end(), [](const auto& one, const auto& two) {
        return one.bytes != two.bytes ? one.bytes > two.bytes : one.lines.size() < two.lines.size();
    });
    pins.sets.resize(std::min(pins.sets.size(), SegmentPins::kMostSets));
    return pins;
}

}  // namespace peakline::report
