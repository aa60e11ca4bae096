#include "segments.h"

#include <algorithm>
#include <numeric>
#include <utility>

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

std::vector<MiddleMoment> moments_of(std::vector<StepEvent>::const_iterator begin,
                                     std::vector<StepEvent>::const_iterator end) {
    std::vector<MiddleMoment> moments;
    MiddleMoment now;
    for (auto at = begin; at != end; ++at) {
        now.level += at->bytes;
        now.event = at->event;
        if (at->is_alloc) {
            moments.push_back(now);
        } else if (at->block != nullptr && at->block->layer != kNoLayer) {
            now.freed[at->block->layer] += at->block->bytes;
        }
    }
    return moments;
}

int64_t count_of(const StepSegment& segment,
                 const std::tuple<std::string, std::string, int64_t>& key) {
    const auto found = segment.outside.find(key);
    return found == segment.outside.end() ? 0 : found->second;
}

// Bytes of blocks of no layer that checkpoints keep through the middle, by the layer that frees
// them if all are checkpointed.
struct KeptOutside {
    std::vector<int64_t> own;     // kept by this layer's checkpoint
    std::vector<int64_t> shared;  // by the checkpoint of any layer
};

KeptOutside kept_outside(const StepSegments& none,
                         const StepSegments& all,
                         const std::vector<std::vector<int64_t>>& own_inputs) {
    const size_t layer_count = none.forward.size();
    KeptOutside kept{std::vector<int64_t>(layer_count), std::vector<int64_t>(layer_count)};
    for (const auto& [key, count] : none.middle.outside) {
        int64_t missing = count - count_of(all.middle, key);
        for (size_t layer = 0; layer < layer_count; ++layer) {
            const int64_t more =
                count_of(all.backward[layer], key) - count_of(none.backward[layer], key);
            const int64_t moved = std::max<int64_t>(0, std::min(missing, more));
            const int64_t bytes = std::get<2>(key);
            const std::vector<int64_t>& inputs = own_inputs[layer];
            const bool is_own = std::find(inputs.begin(), inputs.end(), bytes) != inputs.end();
            (is_own ? kept.own : kept.shared)[layer] += moved * bytes;
            missing -= moved;
        }
    }
    return kept;
}

int64_t bytes_of(const std::map<size_t, int64_t>& by_layer, size_t layer) {
    const auto found = by_layer.find(layer);
    return found == by_layer.end() ? 0 : found->second;
}

// Adds the rows of the middle: of its highest level alone where the two steps allocate differently
// there.
void add_middle(const StepSegments& none,
                const StepSegments& all,
                int64_t level,
                const std::vector<int64_t>& change,
                const std::vector<int64_t>& kept,
                std::vector<PlanRow>* rows) {
    const bool is_same = none.moments.size() == all.moments.size() && !none.moments.empty();
    const StepSegment& middle = none.middle;
    const MiddleMoment top{middle.top - middle.entry, middle.event};
    const size_t moment_count = is_same ? none.moments.size() : 1;
    std::map<std::vector<int64_t>, PlanRow> highest;  // by change
    for (size_t i = 0; i < moment_count; ++i) {
        const MiddleMoment& plain = is_same ? none.moments[i] : top;
        const MiddleMoment& other = is_same ? all.moments[i] : top;
        PlanRow row{level + plain.level, change, plain.event};
        for (size_t layer = 0; layer < change.size(); ++layer) {
            row.change[layer] += kept[layer] + bytes_of(plain.freed, layer);
            row.change[layer] -= bytes_of(other.freed, layer);
        }
        const auto [at, is_new] = highest.try_emplace(row.change, row);
        if (!is_new && row.level > at->second.level) {
            at->second = row;
        }
    }
    for (auto& [key, row] : highest) {
        rows->push_back(std::move(row));
    }
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
    std::vector<MiddleMoment> moments;
    auto begin = events.begin();
    for (auto at = events.begin(); at != events.end(); ++at) {
        if (at->is_alloc && cutter.begins(*at->block)) {
            found.push_back(segment_of(begin, at, level, step.begin));
            if (found.size() == layer_count + 2) {
                moments = moments_of(begin, at);
            }
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
    segments.moments = std::move(moments);
    segments.backward.assign(first + count + 1, first + 2 * count + 1);
    std::reverse(segments.backward.begin(), segments.backward.end());
    segments.after = found.back();
    return segments;
}

std::vector<PlanRow> composed_rows(const StepSegments& none,
                                   const StepSegments& all,
                                   const std::vector<std::vector<int64_t>>& own_inputs) {
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
    const KeptOutside kept = kept_outside(none, all, own_inputs);
    level += std::accumulate(kept.shared.begin(), kept.shared.end(), int64_t{0});
    add_middle(none, all, level, change, kept.own, &rows);
    level += none.middle.exit - none.middle.entry;
    for (size_t layer = 0; layer < count; ++layer) {
        change[layer] += bytes_of(none.middle.freed, layer) - bytes_of(all.middle.freed, layer);
        change[layer] += kept.own[layer];
    }
    for (size_t layer = count; layer-- > 0;) {
        pass_layer(none.backward[layer], all.backward[layer], layer);
        level -= kept.shared[layer];
        change[layer] += kept.shared[layer];
    }
    rows.push_back({level + none.after.top - none.after.entry, change, none.after.event});
    return rows;
}

}  // namespace peakline::report
