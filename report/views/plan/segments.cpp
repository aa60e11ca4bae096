#include "segments.h"

#include <algorithm>

namespace peakline::report {
namespace {

struct StepEvent {
    uint64_t event = 0;
    int64_t bytes = 0;
    const StepBlock* block = nullptr;  // nullptr: a change
    bool is_alloc = false;
};

std::vector<StepEvent> events_of(const std::vector<StepBlock>& blocks,
                                 const LevelChanges& changes,
                                 EventRange step) {
    std::vector<StepEvent> events;
    for (const StepBlock& block : blocks) {
        if (block.alloc_event >= step.begin && block.alloc_event < step.end) {
            events.push_back({block.alloc_event, block.bytes, &block, true});
        }
        if (block.free_event >= step.begin && block.free_event < step.end) {
            events.push_back({block.free_event, -block.bytes, &block, false});
        }
    }
    for (const LevelChange& change : changes) {
        if (change.event >= step.begin && change.event < step.end) {
            events.push_back({change.event, change.bytes});
        }
    }
    // A block that a change removes makes no peak of its own.
    std::stable_sort(events.begin(), events.end(), [](const StepEvent& a, const StepEvent& b) {
        return a.event != b.event ? a.event < b.event : a.bytes < b.bytes;
    });
    return events;
}

// Finds where each segment begins.
class Cutter {
public:
    explicit Cutter(size_t layer_count) : layer_count_(layer_count), next_backward_(layer_count) {}

    // Returns whether a segment begins at this allocation.
    bool begins(const StepBlock& block) {
        const bool is_forward = block.made_in == Phase::kForward;
        const bool is_backward =
            block.made_in == Phase::kBackward || block.made_in == Phase::kRecomputation;
        switch (part_) {
            case Part::kForward:
                if (next_forward_ < layer_count_) {
                    return is_forward && block.layer == next_forward_ && ++next_forward_ != 0;
                }
                if (block.layer == layer_count_ - 1 && is_forward) {
                    return false;
                }
                part_ = Part::kMiddle;
                return true;
            case Part::kMiddle:
            case Part::kBackward:
                if (next_backward_ != 0) {
                    if (is_backward && block.layer == next_backward_ - 1) {
                        --next_backward_;
                        part_ = Part::kBackward;
                        return true;
                    }
                    return false;
                }
                if (block.layer == kNoLayer) {
                    part_ = Part::kAfter;
                    return true;
                }
                return false;
            case Part::kAfter:
                return false;
        }
        return false;
    }

    bool is_whole() const { return next_forward_ == layer_count_ && next_backward_ == 0; }

private:
    enum class Part : unsigned char { kForward, kMiddle, kBackward, kAfter };

    size_t layer_count_;
    size_t next_forward_ = 0;
    size_t next_backward_;
    Part part_ = Part::kForward;
};

StepSegment segment_of(std::vector<StepEvent>::const_iterator begin,
                       std::vector<StepEvent>::const_iterator end,
                       int64_t entry,
                       uint64_t step_begin) {
    StepSegment segment{entry, entry, entry};
    for (auto at = begin; at != end; ++at) {
        segment.exit += at->bytes;
        if (segment.exit > segment.top) {
            segment.top = segment.exit;
            segment.event = at->event;
        }
        if (at->is_alloc || at->block == nullptr) {
            continue;
        }
        const StepBlock& block = *at->block;
        if (block.layer != kNoLayer) {
            segment.freed[block.layer] += block.bytes;
        } else if (block.made_in == Phase::kForward && block.alloc_event >= step_begin) {
            ++segment.outside[{block.module, block.op, block.bytes}];
        }
    }
    return segment;
}

int64_t count_of(const StepSegment& segment,
                 const std::tuple<std::string, std::string, int64_t>& key) {
    const auto found = segment.outside.find(key);
    return found == segment.outside.end() ? 0 : found->second;
}

// Bytes of blocks of no layer that the checkpoint of each layer keeps through the middle.
std::vector<int64_t> kept_outside(const StepSegments& none, const StepSegments& all) {
    std::vector<int64_t> kept(none.forward.size());
    for (const auto& [key, count] : none.middle.outside) {
        int64_t missing = count - count_of(all.middle, key);
        for (size_t layer = 0; layer < kept.size(); ++layer) {
            const int64_t more =
                count_of(all.backward[layer], key) - count_of(none.backward[layer], key);
            const int64_t moved = std::max<int64_t>(0, std::min(missing, more));
            kept[layer] += moved * std::get<2>(key);
            missing -= moved;
        }
    }
    return kept;
}

}  // namespace

std::optional<StepSegments> segments_of(const std::vector<StepBlock>& blocks,
                                        const LevelChanges& changes,
                                        size_t layer_count,
                                        EventRange step) {
    const std::vector<StepEvent> events = events_of(blocks, changes, step);
    int64_t level = 0;
    for (const LevelChange& change : changes) {
        level += change.event < step.begin ? change.bytes : 0;
    }
    for (const StepBlock& block : blocks) {
        level += block.alloc_event < step.begin && block.free_event >= step.begin ? block.bytes : 0;
    }
    Cutter cutter(layer_count);
    std::vector<StepSegment> found;
    auto begin = events.begin();
    for (auto at = events.begin(); at != events.end(); ++at) {
        if (at->is_alloc && cutter.begins(*at->block)) {
            found.push_back(segment_of(begin, at, level, step.begin));
            level = found.back().exit;
            begin = at;
        }
    }
    found.push_back(segment_of(begin, events.end(), level, step.begin));
    if (!cutter.is_whole() || layer_count == 0) {
        return std::nullopt;
    }
    found.resize(2 * layer_count + 3,
                 StepSegment{found.back().exit, found.back().exit, found.back().exit});
    StepSegments segments;
    const auto first = found.begin() + 1;
    const auto count = static_cast<std::ptrdiff_t>(layer_count);
    segments.before = found.front();
    segments.forward.assign(first, first + count);
    segments.middle = first[count];
    segments.backward.assign(first + count + 1, first + 2 * count + 1);
    std::reverse(segments.backward.begin(), segments.backward.end());
    segments.after = found.back();
    return segments;
}

std::vector<PlanRow> composed_rows(const StepSegments& none, const StepSegments& all) {
    const size_t count = none.forward.size();
    std::vector<PlanRow> rows;
    int64_t level = none.before.exit;
    std::vector<int64_t> change(count);
    rows.push_back({none.before.top, change, none.before.event});
    const auto pass_layer = [&](const StepSegment& plain, const StepSegment& other, size_t layer) {
        PlanRow row{level + plain.top - plain.entry, change, plain.event};
        row.change[layer] += (other.top - other.entry) - (plain.top - plain.entry);
        rows.push_back(std::move(row));
        level += plain.exit - plain.entry;
        change[layer] += (other.exit - other.entry) - (plain.exit - plain.entry);
    };
    for (size_t layer = 0; layer < count; ++layer) {
        pass_layer(none.forward[layer], all.forward[layer], layer);
    }
    const std::vector<int64_t> kept = kept_outside(none, all);
    const auto freed = [](const StepSegment& segment, size_t layer) {
        const auto found = segment.freed.find(layer);
        return found == segment.freed.end() ? int64_t{0} : found->second;
    };
    PlanRow middle{level + none.middle.top - none.middle.entry, change, none.middle.event};
    level += none.middle.exit - none.middle.entry;
    for (size_t layer = 0; layer < count; ++layer) {
        middle.change[layer] += kept[layer];
        change[layer] += freed(none.middle, layer) - freed(all.middle, layer) + kept[layer];
    }
    rows.push_back(std::move(middle));
    for (size_t layer = count; layer-- > 0;) {
        pass_layer(none.backward[layer], all.backward[layer], layer);
    }
    rows.push_back({level + none.after.top - none.after.entry, change, none.after.event});
    return rows;
}

}  // namespace peakline::report
