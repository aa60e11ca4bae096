#include "growth.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "input_fit.h"
#include "report/views/blocks/holders.h"

namespace peakline::report {
namespace {

// The longest trainings have about a million steps: a row that does not double the peak by then is
// slow.
constexpr double kStepsOfALongRun = 1e6;
// A row in a report that nobody requested must have grown for longer than chance and warm-up take.
constexpr size_t kLeastCertainRises = 8;
constexpr size_t kMostHolders = 4;
constexpr int64_t kSmallPart = 100;

BlockGroup group_of_slot(const NumberedGroups* groups, uint32_t slot) {
    if (groups != nullptr) {
        return groups->groups[slot];
    }
    BlockGroup group;
    group.context = slot;
    return group;
}

// More than any device has is damage; differences of these levels cannot overflow.
int64_t sane(int64_t bytes) {
    constexpr int64_t kMost = int64_t{1} << 60;
    return std::clamp(bytes, -kMost, kMost);
}

// Gives the levels of one row after the other: those of all at once would take a number for every
// row and sample.
class SeriesBuilder {
public:
    SeriesBuilder(const GrowthQuestion& question, const BlockKeys& keys)
        : samples_(question.samples), groups_(question.groups), keys_(keys) {
        for (const SlotChange& change : samples_.changes) {
            row_of_slot_.resize(std::max<size_t>(row_of_slot_.size(), change.slot + size_t{1}),
                                kNoRow);
            if (row_of_slot_[change.slot] == kNoRow) {
                row_of_slot_[change.slot] = row_of(change.slot);
            }
        }
        put_changes_by_row();
    }

    size_t row_count() const { return labels_.size(); }
    std::vector<Label> take_labels(size_t row) { return std::move(labels_[row]); }
    // Whether the row's levels change after the first sample.
    bool is_changed(size_t row) const {
        return by_row_[ends_[row] - 1] >= (samples_.ends.empty() ? 0 : samples_.ends.front());
    }

    LevelSeries series(size_t row) const {
        LevelSeries series;
        SlotChange level;
        size_t next = row == 0 ? 0 : ends_[row - 1];
        for (const size_t end : samples_.ends) {
            for (; next < ends_[row] && by_row_[next] < end; ++next) {
                const SlotChange& change = samples_.changes[by_row_[next]];
                level.bytes = wrapped_sum(level.bytes, static_cast<uint64_t>(change.bytes));
                level.requested_bytes = wrapped_sum(level.requested_bytes,
                                                    static_cast<uint64_t>(change.requested_bytes));
                level.count += change.count;
            }
            series.bytes.push_back(sane(level.bytes));
            series.requested.push_back(sane(level.requested_bytes));
            series.counts.push_back(level.count);
        }
        return series;
    }

private:
    static constexpr size_t kNoRow = SIZE_MAX;

    size_t row_of(uint32_t slot) {
        std::vector<Label> labels = keys_.keyed_row(group_of_slot(groups_, slot)).labels;
        const auto [at, is_new] = numbers_.try_emplace(keys_of_labels(labels), labels_.size());
        if (is_new) {
            labels_.push_back(std::move(labels));
        }
        return at->second;
    }

    // Sorts the indices of changes by row, keeping their order within a row.
    void put_changes_by_row() {
        ends_.resize(labels_.size() + 1);
        for (const SlotChange& change : samples_.changes) {
            ++ends_[row_of_slot_[change.slot] + 1];
        }
        for (size_t row = 1; row < ends_.size(); ++row) {
            ends_[row] += ends_[row - 1];
        }
        // Each entry of ends_ is the beginning of its row now, and its end when all are filled in.
        by_row_.resize(samples_.changes.size());
        for (size_t i = 0; i < samples_.changes.size(); ++i) {
            by_row_[ends_[row_of_slot_[samples_.changes[i].slot]]++] = i;
        }
    }

    const LevelSamples& samples_;
    const NumberedGroups* groups_;
    const BlockKeys& keys_;
    std::map<std::vector<std::string>, size_t> numbers_;
    std::vector<size_t> row_of_slot_;
    std::vector<std::vector<Label>> labels_;
    std::vector<size_t> by_row_;
    std::vector<size_t> ends_;  // ends in by_row_
};

// Turns "losses[12]" into "losses[*]": the index of one block has no meaning for the others.
std::string without_indices(const std::string& path) {
    std::string text;
    for (size_t i = 0; i < path.size(); ++i) {
        text += path[i];
        size_t end = i + 1;
        while (end < path.size() && std::isdigit(static_cast<unsigned char>(path[end])) != 0) {
            ++end;
        }
        if (path[i] == '[' && end > i + 1 && end < path.size() && path[end] == ']') {
            text += '*';
            i = end - 1;
        }
    }
    return text;
}

// Holders name blocks by context, so keys that need lives or tensors have no rows for them.
void add_holders(const BlockKeys& keys, std::vector<GrowthRow>* rows) {
    std::map<std::vector<std::string>, std::map<std::string, GrowthHolder>> found;
    const Definitions& definitions = keys.stacks().definitions();
    for (const BlockHolder& holder : definitions.holders) {
        if (holder.kind == format::HolderKind::kNone) {
            continue;
        }
        BlockGroup group;
        group.context = holder.context;
        group.stream = holder.stream;
        group.device = holder.device;
        const std::string path = without_indices(holder.text);
        GrowthHolder& known = found[keys_of_labels(keys.keyed_row(group).labels)][path];
        known.kind = kind_name(holder.kind);
        known.path = path;
        ++known.block_count;
    }
    for (GrowthRow& row : *rows) {
        for (auto& [path, holder] : found[keys_of_labels(row.labels)]) {
            row.holders.push_back(holder);
        }
        std::stable_sort(row.holders.begin(), row.holders.end(), [](const auto& a, const auto& b) {
            return a.block_count > b.block_count;
        });
        row.holders.resize(std::min(row.holders.size(), kMostHolders));
    }
}

bool is_certain(const GrowthFit& fit, const Growth& growth, bool is_slow) {
    const size_t rises = (growth.sample_count - fit.sample) / fit.window;
    return growth.moments.unit != GrowthUnit::kTime && !fit.is_replaced && !is_slow &&
           rises >= kLeastCertainRises;
}

void sort_rows(std::vector<GrowthRow>* rows) {
    std::sort(rows->begin(), rows->end(), [](const GrowthRow& a, const GrowthRow& b) {
        if (a.fit.bytes_per_sample != b.fit.bytes_per_sample) {
            return a.fit.bytes_per_sample > b.fit.bytes_per_sample;
        }
        return a.fit.level_bytes != b.fit.level_bytes
                   ? a.fit.level_bytes > b.fit.level_bytes
                   : keys_of_labels(a.labels) < keys_of_labels(b.labels);
    });
}

// Fits one row after the other, including the inputs of steps.
class RowFitter {
public:
    RowFitter(const GrowthQuestion& question, const BlockKeys& keys)
        : question_(question), keys_(keys) {
        for (const StepInputs& inputs : question.inputs) {
            given_.push_back({inputs, 0, inputs.elements});
            // The batch after next may be loaded before a step ends.
            std::vector<int64_t> earlier = inputs.elements;
            earlier.insert(earlier.begin(), 0);
            earlier.pop_back();
            given_.push_back({inputs, 1, std::move(earlier)});
        }
    }

    void fit(const LevelSeries& series, GrowthRow* row) const {
        row->fit = fit_growth(series);
        for (const Given& given : given_) {
            const std::optional<InputFit> found = fit_inputs(series.requested, given.elements);
            if (!found) {
                continue;
            }
            if (found->part == InputPart::kSome ? leaves_growth(series, *found, row)
                                                : follows(series, given, *found, row)) {
                return;
            }
        }
    }

private:
    struct Given {
        const StepInputs& inputs;
        size_t lag = 0;
        std::vector<int64_t> elements;
    };

    static bool leaves_growth(const LevelSeries& series, const InputFit& found, GrowthRow* row) {
        LevelSeries rest = series;
        for (size_t i = 0; i < found.explained.size(); ++i) {
            rest.bytes[i] -= found.explained[i];
            rest.requested[i] -= found.explained[i];
        }
        const auto [least, most] =
            std::minmax_element(found.explained.begin() + 1, found.explained.end());
        if (row->fit.kind == GrowthKind::kGrows &&
            *most - *least < row->fit.gained_bytes / kSmallPart) {
            return true;  // hardly any of it follows the inputs
        }
        const GrowthFit fit = fit_growth(rest);
        row->is_beside_inputs = fit.kind == GrowthKind::kGrows;
        row->fit = row->is_beside_inputs ? fit : row->fit;
        return row->is_beside_inputs;
    }

    bool follows(const LevelSeries& series,
                 const Given& given,
                 const InputFit& found,
                 GrowthRow* row) const {
        if (row->fit.kind != GrowthKind::kGrows) {
            return false;
        }
        const size_t last = series.bytes.size() - 1;
        const size_t from = std::max(row->fit.sample, given.lag + 1);
        const int64_t grown = given.elements[last] - given.elements[from];
        const int64_t gained = series.bytes[last] - series.bytes[from];
        if (grown <= 0 || gained <= 0) {
            return false;
        }
        const Definitions& definitions = keys_.stacks().definitions();
        FollowedInputs inputs;
        inputs.rise = describe_rise(definitions, given.inputs, from - given.lag, last - given.lag);
        if (found.part == InputPart::kUnclear && !ends_with_length(row->labels, inputs.rise)) {
            return false;
        }
        BlockGroup group;
        group.context = given.inputs.context;
        inputs.line = row_by_line(keys_.stacks(), group).label;
        inputs.bytes_per_unit = static_cast<double>(gained) / static_cast<double>(grown) *
                                static_cast<double>(inputs.rise.elements_per_unit);
        row->inputs = std::move(inputs);
        return true;
    }

    // Whether nine tenths of the row's bytes at the end have the length of the inputs. Not for keys
    // that need lives or tensors.
    bool ends_with_length(const std::vector<Label>& labels, const InputRise& rise) const {
        if (question_.groups != nullptr) {
            return false;
        }
        const std::vector<std::string> row = keys_of_labels(labels);
        uint64_t with_length = 0;
        uint64_t all = 0;
        for (const TrackedBlock& block : question_.left_at_end) {
            BlockGroup group;
            group.context = block.block.context;
            if (keys_of_labels(keys_.keyed_row(group).labels) != row) {
                continue;
            }
            const Definitions& definitions = keys_.stacks().definitions();
            const uint32_t type = definitions.type_of(block.ordinal);
            all += block.block.requested_bytes;
            with_length += has_length_of(definitions, type, rise) ? block.block.requested_bytes : 0;
        }
        return all != 0 && with_length / 9 >= all / 10;
    }

    const GrowthQuestion& question_;
    const BlockKeys& keys_;
    std::vector<Given> given_;
};

}  // namespace

Growth build_growth(const GrowthQuestion& question, GrowthMoments moments, const BlockKeys& keys) {
    Growth growth;
    growth.moments = std::move(moments);
    growth.sample_count = question.samples.ends.size();
    growth.ticks = question.samples.ticks;
    const auto per_sample = static_cast<double>(growth.moments.units_per_sample);
    SeriesBuilder builder(question, keys);
    const RowFitter fitter(question, keys);
    for (size_t number = 0; number < builder.row_count(); ++number) {
        if (!builder.is_changed(number)) {
            continue;
        }
        GrowthRow row;
        row.labels = builder.take_labels(number);
        fitter.fit(builder.series(number), &row);
        const double per_step = row.fit.bytes_per_sample / per_sample;
        row.is_slow = growth.moments.unit != GrowthUnit::kTime &&
                      per_step * kStepsOfALongRun < static_cast<double>(question.peak_bytes);
        row.is_certain =
            row.fit.kind == GrowthKind::kGrows && is_certain(row.fit, growth, row.is_slow);
        std::vector<GrowthRow>* const rows =
            row.inputs.has_value()                     ? &growth.following
            : row.fit.kind == GrowthKind::kGrows       ? &growth.growing
            : row.fit.kind == GrowthKind::kLevelledOff ? &growth.levelled
            : row.fit.kind == GrowthKind::kReturns     ? &growth.returning
                                                       : nullptr;
        if (rows != nullptr) {
            rows->push_back(std::move(row));
        }
    }
    for (auto* const rows :
         {&growth.growing, &growth.following, &growth.levelled, &growth.returning}) {
        sort_rows(rows);
    }
    add_holders(keys, &growth.growing);
    return growth;
}

}  // namespace peakline::report
