#include "second_pass.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "report/replay/blocks/block_stream.h"
#include "report/replay/blocks/ordinal_table.h"
#include "report/replay/calls/memory_levels.h"
#include "report/replay/values/device_names.h"
#include "report/views/blocks/block_texts.h"

namespace peakline::report {
namespace {

class PageFollower : public BlockFollower {
public:
    PageFollower(const SecondPass& pass, PageContexts& contexts, Page& page)
        : measure_(pass.request.measure),
          counts_all_(pass.request.device.kind == DeviceChoiceKind::kAll),
          device_(page.chosen.device),
          range_(pass.range),
          facts_(pass.facts),
          contexts_(contexts),
          page_(page),
          context_of_(pass.reader.max_alloc_count()),
          growth_(page_growth_moments(page.phases.table, page.phases.health.event_count),
                  page.phases.table.first_step,
                  pass.limits.growth_changes),
          tensors_(pass.reader.max_alloc_count(),
                   most_tensors(page.phases.health.event_count, pass.limits)),
          segments_(counts_all_ ? std::nullopt : std::optional(device_)) {}

    void restore(const Checkpoint& checkpoint) {
        level_.traced = checkpoint.tracing;
        knows_segments_ = false;  // a checkpoint lacks them
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            const BaselineBlock& block = checkpoint.blocks[ordinal];
            if (counts(block.shape) &&
                !(measure_ == format::Measure::kAllocated && block.is_deferred)) {
                const uint32_t context = count(ordinal, block.shape, 1, checkpoint.tick);
                add_tensor(ordinal, block.shape, context, checkpoint.tick);
            }
        }
    }

    void before_event(EventTime at) {
        if (!is_shown_ && at.tick >= range_.from_tick && !is_over_) {
            is_shown_ = true;
            first_shown_event_ = at.event;
            if (range_.from_tick > 0) {
                consider(range_.from_tick);
            }
        }
        if (is_shown_ && at.tick > range_.to_tick) {
            is_shown_ = false;
            is_over_ = true;
            page_.end_tick = range_.to_tick;
        }
        growth_.before_event(at, level_.bytes, is_shown_);
        if (is_shown_) {
            page_.end_tick = at.tick;
            last_shown_event_ = at.event;
        }
    }

    void on_alloc(const BlockAlloc& block) {
        if (is_over_) {
            return;
        }
        const bool is_wanted =
            is_shown_ && level_.traced && !block.shape.untraced && counts(block.shape);
        newest_.on_alloc(contexts_.thread_of(block.shape.context), block.ordinal, is_wanted);
        if (counts(block.shape)) {
            segments_.on_alloc(block.shape.block_bytes);
            if (is_shown_ && segments_.now().reserved_bytes > most_reserved_bytes_) {
                most_reserved_bytes_ = segments_.now().reserved_bytes;
                most_reserved_event_ = block.at.event;
            }
            const uint32_t context = count(block.ordinal, block.shape, 1, block.at.tick);
            add_tensor(block.ordinal, block.shape, context, block.at.tick);
            if (is_wanted) {
                page_.totals.add_allocated(context, bytes_of(block.shape, measure_));
            }
        }
    }

    void on_free(const BlockFree& block) {
        if (is_over_ || !counts(block.shape)) {
            return;
        }
        segments_.on_free(block.shape.block_bytes, block.kind);
        if (!block.leaves(measure_)) {
            return;
        }
        const uint32_t context = count(block.ordinal, block.shape, -1, block.at.tick);
        tensors_.on_free(block, level_event_count_, is_shown_);
        if (newest_.is_temporary(contexts_.thread_of(block.shape.context), block.ordinal)) {
            page_.totals.add_temporary(context, bytes_of(block.shape, measure_));
        }
    }

    void on_main_end(EventTime) {
        growth_.on_main_end();
        if (is_shown_) {
            page_.totals.set_left(page_.moments.live_now());
            has_end_ = true;
        }
    }

    void finish(EventTime end, BlockTexts& texts, const Definitions& definitions) {
        page_.points.finish();
        page_.growth = growth_.finish(end, level_.bytes, is_shown_);
        page_.tensors = tensors_.finish(definitions, facts_, texts);
        page_.has_reserved = knows_segments_ && segments_.has_segments();
        if (!has_end_) {
            page_.totals.set_left(page_.moments.live_now());
        }
    }

    // Whether segments of the shown device, the only one, are known.
    bool has_segments() const {
        return !counts_all_ && knows_segments_ && segments_.has_segments();
    }

    void on_saved(const BlockSaved& block) { tensors_.on_saved(block); }
    void on_rare(const RareEvent& event, EventTime at) {
        if (const auto segment = event.as<format::Segment>()) {
            if (!is_over_) {
                segments_.on_segment(*segment);
                page_.points.on_reserved(segments_.now().reserved_bytes);
            }
        } else if (const auto failed = event.as<format::OutOfMemory>()) {
            add_refused(*failed, at);
        } else if (const auto refusal = event.as<format::Refusal>()) {
            // Completes the refusal of the previous record.
            if (!page_.refused.empty() && page_.refused.back().event + 1 == at.event) {
                page_.refused.back().limit_bytes = refusal->limit_bytes;
            }
        } else if (const auto mark = event.as<format::Mark>()) {
            on_mark(mark->kind, at.tick);
        }
    }

    // See follow_levels().
    std::vector<PageMapMoment> wanted_of_map(uint64_t max_changes) const {
        const std::vector<PagePoint>& points = page_.points.points();
        if (!has_segments() || points.empty()) {
            return {};
        }
        std::vector<PageMapMoment> wanted;
        want_phases(page_.phases.table, points[page_.points.highest()].peak_tick, &wanted);
        // Every block may change from one moment to the next.
        const uint64_t time_count = max_changes / (2 * std::max<uint64_t>(1, most_live_count_));
        want_times(first_shown_event_, last_shown_event_, time_count, &wanted);
        wanted.push_back({"reserved", 0, most_reserved_event_, 0, 0});
        const size_t count = page_.refused.size();
        for (size_t i = count - std::min(count, kMostRefusedMaps); i < count; ++i) {
            wanted.push_back({"refused", static_cast<uint32_t>(i), page_.refused[i].event, 0, 0});
        }
        std::stable_sort(wanted.begin(), wanted.end(), [](const auto& one, const auto& two) {
            return one.event < two.event;
        });
        return wanted;
    }

private:
    static constexpr size_t kMostRefusedMaps = 8;  // the last ones

    void on_mark(format::MarkKind kind, uint64_t tick) {
        if (kind == format::MarkKind::kTracingStarted ||
            kind == format::MarkKind::kTracingStopped) {
            level_.traced = kind == format::MarkKind::kTracingStarted;
            if (is_shown_ && level_.traced) {
                consider(tick);
            }
        }
    }

    void add_refused(const format::OutOfMemory& record, EventTime at) {
        if (!is_shown_ || !(counts_all_ || record.device == device_) ||
            page_.refused.size() == Page::kMaxRefused) {
            return;
        }
        PageRefused refused;
        refused.event = at.event;
        refused.request = {1,
                           at.tick,
                           static_cast<uint32_t>(record.context),
                           static_cast<uint32_t>(record.device),
                           record.requested_bytes,
                           record.free_bytes};
        // Holds an event until all are read, then a point.
        refused.point = page_.event_count > 0 ? page_.event_count - 1 : 0;
        refused.level_bytes = level_.bytes;
        refused.categories = categories_;
        refused.rows = rows_by_line(contexts_.names(), page_.moments.live_now());
        refused.row_count = refused.rows.size();
        refused.rows.resize(std::min(refused.row_count, Page::kMaxRefusedRows));
        // The sums of all devices do not describe the one that refused.
        if (has_segments()) {
            refused.reserved_bytes = segments_.now().reserved_bytes;
            refused.active_bytes = segments_.now().active_bytes;
        }
        page_.refused.push_back(std::move(refused));
    }

    bool counts(const AllocationShape& shape) const {
        return is_counted(counts_all_ ? std::nullopt : std::optional(device_), shape.device);
    }

    uint32_t context_of(uint64_t ordinal, const AllocationShape& shape) {
        if (context_of_.at(ordinal) == 0) {
            context_of_.put(ordinal, contexts_.of(shape, ordinal, facts_.of(ordinal)) + 1);
        }
        return context_of_.at(ordinal) - 1;
    }

    uint32_t count(uint64_t ordinal, const AllocationShape& shape, int sign, uint64_t tick) {
        const uint32_t context = context_of(ordinal, shape);
        if (sign < 0) {
            context_of_.remove(ordinal);
        }
        const uint64_t bytes = bytes_of(shape, measure_);
        const uint32_t category = contexts_.category_of(context);
        const auto change = static_cast<uint64_t>(sign) * bytes;  // wraps, as the sums do
        level_.bytes += change;
        live_count_ += static_cast<uint64_t>(static_cast<int64_t>(sign));
        most_live_count_ = std::max(most_live_count_, live_count_);
        categories_[std::min<size_t>(category, kMaxPageCategories - 1)] += change;
        const PageChange moved = {context, static_cast<int64_t>(change), sign};
        ++level_event_count_;
        growth_.count(moved);
        if (!is_shown_) {
            page_.points.pass_event();
            page_.moments.apply(moved);
            return context;
        }
        ++page_.event_count;
        page_.points.on_event(tick, level_, categories_);
        page_.moments.on_event(moved, level_);
        return context;
    }

    // All blocks of a page that has a point for each event: there are at most as many.
    static size_t most_tensors(uint64_t event_count, const PageLimits& limits) {
        return event_count <= limits.every_event ? limits.every_event : limits.tensors;
    }

    void add_tensor(uint64_t ordinal,
                    const AllocationShape& shape,
                    uint32_t context,
                    uint64_t tick) {
        PageTensor made;
        made.ordinal = ordinal;
        made.bytes = bytes_of(shape, measure_);
        made.made_event = level_event_count_;
        made.freed_event = kNeverFreed;
        made.made_tick = tick;
        made.context = context;
        made.trace_context = shape.context;
        made.stream = shape.stream;
        made.device = shape.device;
        tensors_.on_alloc(made);
    }

    void consider(uint64_t tick) {
        page_.points.consider(tick, level_, categories_);
        page_.moments.consider(level_);
    }

    format::Measure measure_;
    bool counts_all_;
    uint32_t device_;
    ShownRange range_;
    const AllFacts& facts_;
    PageContexts& contexts_;
    Page& page_;
    bool is_shown_ = false;
    bool is_over_ = false;
    bool has_end_ = false;  // the end of main
    TemporaryBlocks newest_;
    Height level_;
    CategoryLevels categories_ = {};
    OrdinalTable context_of_;  // of live blocks, plus one
    GrowthFollower growth_;
    TensorFollower tensors_;
    uint64_t level_event_count_ = 0;  // in the shown range and before it
    LevelFollower segments_;
    bool knows_segments_ = true;
    uint64_t live_count_ = 0;
    uint64_t most_live_count_ = 0;
    uint64_t first_shown_event_ = 0;
    uint64_t last_shown_event_ = 0;
    uint64_t most_reserved_bytes_ = 0;
    uint64_t most_reserved_event_ = 0;  // the event of the first block after it
};

}  // namespace

std::vector<PageMapMoment> follow_levels(const SecondPass& pass,
                                         PageContexts& contexts,
                                         const Progress& progress,
                                         Page* page) {
    BlockStream stream(pass.reader);
    PageFollower follower(pass, contexts, *page);
    stream.run(progress, follower);
    BlockTexts texts(pass.stacks, page->phases.table);
    follower.finish(stream.end(), texts, pass.reader.definitions());
    page->has_segments = follower.has_segments();
    return follower.wanted_of_map(pass.limits.map_changes);
}

}  // namespace peakline::report
