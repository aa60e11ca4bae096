#include "step_history.h"

#include <algorithm>
#include <utility>

namespace peakline::report {

using format::SummaryType;

std::optional<uint64_t> StepHistory::step_of(uint64_t ordinal) const {
    const auto after = std::upper_bound(
        samples.begin(), samples.end(), ordinal, [](uint64_t wanted, const StepSample& sample) {
            return wanted < sample.next_ordinal;
        });
    if (!has_steps() || after == samples.begin()) {
        return std::nullopt;
    }
    const uint64_t last = last_step_of(static_cast<size_t>(after - samples.begin()));
    return std::min(last, step_count);
}

bool StepHistoryDecoder::decode(SummaryType type,
                                FieldCursor cursor,
                                const Definitions& definitions) {
    if (type == SummaryType::kStepHistory) {
        history_ = {};
        history_.source = static_cast<format::SampleSource>(cursor.uv32());
        history_.step_count = cursor.uv();
        history_.steps_per_sample = cursor.uv();
        history_.may_go_on = cursor.at != cursor.end && cursor.uv() != 0;
    } else if (type == SummaryType::kStepSample) {
        StepSample& sample = history_.samples.emplace_back();
        sample.tick = cursor.uv();
        sample.next_ordinal = cursor.uv();
        sample.level_bytes = cursor.uv();
        sample.peak_bytes = cursor.uv();
        sample.change_end = history_.changes.size();
    } else if (type == SummaryType::kLevelChange) {
        return decode_change(cursor, definitions);
    } else {
        is_whole_ = cursor.uv() == history_.samples.size();
    }
    return cursor.good;
}

bool StepHistoryDecoder::decode_change(FieldCursor cursor, const Definitions& definitions) {
    StepChange change;
    change.context = definitions.known_context(cursor.uv32());
    change.device = cursor.uv32();
    change.block_bytes = cursor.zz();
    change.requested_bytes = cursor.zz();
    change.count = cursor.zz();
    if (!cursor.good || history_.samples.empty()) {
        return false;
    }
    history_.changes.push_back(change);
    history_.samples.back().change_end = history_.changes.size();
    return true;
}

bool StepHistoryDecoder::is_sane() const {
    const std::vector<StepSample>& samples = history_.samples;
    const bool is_known = history_.source <= format::SampleSource::kMarks;
    const bool are_ordered =
        std::adjacent_find(samples.begin(), samples.end(), [](const StepSample& a, const auto& b) {
            return b.tick < a.tick || b.next_ordinal < a.next_ordinal;
        }) == samples.end();
    return is_whole_ && is_known && are_ordered && history_.step_count <= UINT32_MAX / 2 &&
           history_.steps_per_sample != 0 && history_.steps_per_sample <= history_.step_count + 1 &&
           samples.size() <= format::kMostStepSamples &&
           samples.size() <= history_.step_count / history_.steps_per_sample;
}

std::optional<StepHistory> StepHistoryDecoder::take() {
    return is_sane() ? std::optional(std::move(history_)) : std::nullopt;
}

}  // namespace peakline::report
