// The report of growth: leaks.
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "report.h"
#include "report/render/document/document.h"
#include "report/render/growth/leaks_report.h"
#include "report/replay/replay.h"
#include "report/replay/totals/level_samples.h"
#include "report/views/selection/chosen_keys.h"
#include "report/views/selection/refusals.h"

namespace peakline::report {
namespace {

// With such keys all blocks of a context are in one row, so blocks need no numbers.
bool is_made_of_stacks(const std::string& key) {
    constexpr std::string_view kKeys[] = {"line", "function", "file", "stack"};
    return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

std::vector<const Grouping*> keys_with_category(const TraceReader& reader,
                                                const Selection& selection) {
    std::vector<const Grouping*> keys = chosen_keys(reader, selection);
    keys.push_back(&find_grouping("category"));
    return keys;
}

// Returns the phases of the trace and the blocks that are live at its end.
ReplayResult replay_to_end(const TraceReader& reader,
                           const Selection& selection,
                           BlockKeys& keys,
                           const Progress& progress) {
    ReplayRequest request = selection.request;
    request.moment.kind = MomentKind::kEnd;
    request.detail = Detail::kBlocks;
    request.needs_tensors = true;
    request.phase_rules = &keys.stacks().phase_rules();
    ReplayResult result = replay(reader, request, progress);
    keys.group(result.phases, &result.blocks);
    return result;
}

struct Found {
    Growth growth;
    std::optional<ReservedGrowth> reserved;  // of one device
};

// Compares parts of the run where too few steps are known: threads of the program have no known
// steps.
GrowthMoments moments_of_reserved(const GrowthMoments& moments, uint64_t event_count) {
    return moments.bounds.size() < kLeastSamples ? parts_of_run(event_count) : moments;
}

Found find_growth(const TraceReader& reader,
                  const Selection& selection,
                  const ReplayResult& end,
                  StackLookup& stacks,
                  const Progress& progress) {
    const std::vector<std::string>& names = selection.row_keys;
    BlockKeys keys(chosen_keys(reader, selection), names.size(), stacks);
    std::optional<NumberedGroups> groups;
    if (!std::all_of(names.begin(), names.end(), is_made_of_stacks)) {
        groups = number_groups(reader, keys, progress);
    }
    // The checkpoint has samples by context only.
    const Checkpoint* const checkpoint = groups ? nullptr : reader.checkpoint();
    const uint64_t event_count = end.health.event_count;
    GrowthMoments moments = growth_moments(end.phases, event_count, checkpoint);
    SampleQuestion question;
    question.with_earlier = moments.earlier_count != 0;
    question.bounds = moments.bounds;
    question.measure = selection.request.measure;
    if (!end.is_sum) {
        question.device = end.chosen.device;
    }
    question.slot_of_block = groups.has_value() ? &groups->group_of_block : nullptr;
    BlockStream stream(reader);
    InputSampler inputs(stacks, moments.bounds, moments.earlier_count, question.device);
    ReservedSampler reserved(reader.definitions(),
                             moments_of_reserved(moments, event_count),
                             question.device.value_or(kMaxDevices));
    LevelSampler sampler(std::move(question));
    stream.run(progress, sampler, inputs, reserved);
    const LevelSamples samples = sampler.finish(stream.end());
    const GrowthQuestion asked = {samples,
                                  groups.has_value() ? &*groups : nullptr,
                                  end.chosen.peak_bytes,
                                  inputs.finish(stream.end()),
                                  end.blocks.blocks};
    return {build_growth(asked, std::move(moments), keys), reserved.finish(stream.end(), stacks)};
}

// The causes of growth that `advise` finds, as far as the recording shows them.
std::vector<Advice> find_leaks(const TraceReader& reader,
                               const Selection& selection,
                               uint64_t event_count,
                               StackLookup& stacks,
                               const Progress& progress) {
    if (event_count > kMostEventsUnasked) {
        return {};
    }
    std::vector<Advice> found = build_advice(reader, selection, stacks, progress).advice;
    found.erase(
        std::remove_if(
            found.begin(), found.end(), [](const Advice& one) { return !is_leak(one.rule); }),
        found.end());
    return found;
}

}  // namespace

std::string make_leaks(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, "leaks");
    need_time(reader, "leaks");
    StackLookup stacks(reader.definitions(), selection.frames);
    BlockKeys keys(keys_with_category(reader, selection), selection.row_keys.size(), stacks);
    const ReplayResult end = replay_to_end(reader, selection, keys, progress);
    const Found found = find_growth(reader, selection, end, stacks, progress);
    const std::vector<LeftRow> left =
        build_left_at_end(end.blocks.blocks, end.phases, selection.request.measure, keys);
    const std::vector<Advice> findings =
        options.with_findings
            ? find_leaks(reader, selection, end.health.event_count, stacks, progress)
            : std::vector<Advice>();
    const LeaksReport report = {reader,
                                selection,
                                end,
                                found.growth,
                                found.reserved,
                                left,
                                findings,
                                options.top,
                                options.paths};
    return document_of(options.form, put_leaks, report);
}

}  // namespace peakline::report
