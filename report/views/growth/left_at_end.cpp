#include "left_at_end.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "report/views/calls/event_phases.h"

namespace peakline::report {
namespace {

// Names of --by category.
constexpr std::array<std::string_view, 7> kKeptByDesign = {"parameter",
                                                           "buffer",
                                                           "gradient",
                                                           "optimizer state",
                                                           "workspace",
                                                           "communication",
                                                           kUntracedName};

bool is_kept_by_design(const std::string& category) {
    return std::find(kKeptByDesign.begin(), kKeptByDesign.end(), category) != kKeptByDesign.end();
}

class LeftRows {
public:
    LeftRows(format::Measure measure, const BlockKeys& keys) : measure_(measure), keys_(keys) {}

    void add(const BlockGroup& block, uint32_t step) {
        const std::string& category = category_of(block);
        if (is_kept_by_design(category)) {
            return;
        }
        std::vector<Label> labels = keys_.keyed_row(block).labels;
        std::vector<std::string> key = keys_of_labels(labels);
        key.push_back(category);
        const auto [at, is_new] = rows_.try_emplace(std::move(key));
        LeftRow& row = at->second;
        if (is_new) {
            row.labels = std::move(labels);
            row.category = category;
            row.first_step = step;
        }
        row.bytes +=
            measure_ == format::Measure::kAllocated ? block.block_bytes : block.requested_bytes;
        ++row.count;
        row.first_step = std::min(row.first_step, step);
        row.last_step = std::max(row.last_step, step);
    }

    std::vector<LeftRow> take() {
        std::vector<LeftRow> rows;
        for (auto& [key, row] : rows_) {
            rows.push_back(std::move(row));
        }
        std::stable_sort(rows.begin(), rows.end(), [](const LeftRow& a, const LeftRow& b) {
            return a.bytes > b.bytes;
        });
        return rows;
    }

private:
    const std::string& category_of(const BlockGroup& block) {
        const auto [at, is_new] = categories_.try_emplace(key_of_group(block));
        if (is_new) {
            at->second = keys_.row_of(keys_.row_key_count(), block).label.name;
        }
        return at->second;
    }

    format::Measure measure_;
    const BlockKeys& keys_;
    std::map<GroupKey, std::string> categories_;
    std::map<std::vector<std::string>, LeftRow> rows_;
};

}  // namespace

std::vector<LeftRow> build_left_at_end(const std::vector<TrackedBlock>& blocks,
                                       const PhaseTable& phases,
                                       format::Measure measure,
                                       const BlockKeys& keys) {
    const EventPhases event_phases(phases);
    LeftRows rows(measure, keys);
    for (const TrackedBlock& block : blocks) {
        const std::optional<uint32_t> step = !block.facts.is_restored
                                                 ? event_phases.step(block.facts.alloc_event)
                                             : phases.counts_on() ? block.facts.earlier_step
                                                                  : std::nullopt;
        if (step.has_value()) {
            rows.add(block.block, *step);
        }
    }
    return rows.take();
}

}  // namespace peakline::report
