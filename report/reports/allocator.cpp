// The reports about torch's allocator: whatif, map, fragmentation.
#include <map>
#include <optional>
#include <string>

#include "report.h"
#include "report/attribute/grouping.h"
#include "report/render/allocator/fragmentation_report.h"
#include "report/render/allocator/whatif_report.h"
#include "report/render/document/document.h"
#include "report/trace/file/trace_error.h"
#include "report/views/ledger/moment_event.h"
#include "report/views/selection/refusals.h"

namespace peakline::report {
namespace {

// Each device has its own allocator, and memory of the host has no segments.
std::optional<uint32_t> device_of(const Selection& selection, const char* command) {
    const DeviceChoice& choice = selection.request.device;
    refuse_host(selection, command);
    if (choice.kind == DeviceChoiceKind::kAll) {
        throw TraceError(std::string(command) +
                         " is about one device: each has an allocator of its own; --device N "
                         "names one");
    }
    return choice.kind == DeviceChoiceKind::kNumber ? std::optional(choice.number) : std::nullopt;
}

StateLines lines_of(const AllocatorState& state, const TraceReader& reader, StackLookup& stacks) {
    StateLines lines;
    lines.labels.emplace_back();
    lines.of_context.assign(reader.definitions().contexts.count() + size_t{1}, 0);
    std::map<std::string, uint32_t> by_key;
    for (const StateSegment& segment : state.segments) {
        for (const StateBlock& one : segment.blocks) {
            uint32_t& line = lines.of_context[one.context];
            if (line != 0) {
                continue;
            }
            BlockGroup group;
            group.context = one.context;
            group.device = state.device;
            group.count = 1;
            const Label label = row_by_line(stacks, group).label;
            const auto [at, is_new] =
                by_key.try_emplace(label.key, static_cast<uint32_t>(lines.labels.size()));
            if (is_new) {
                lines.labels.push_back(label);
            }
            line = at->second;
        }
    }
    return lines;
}

// `with_pins`: also finds the lines that pin segments, which the map does not show.
std::string make_state(const TraceReader& reader,
                       const ReportOptions& options,
                       const Progress& progress,
                       const char* command,
                       bool with_pins,
                       void (*put)(Document&, const StateReport&)) {
    Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, command);
    need_events(reader, command);
    need_standing(reader, command);
    device_of(selection, command);
    StackLookup stacks(reader.definitions(), selection.frames);
    selection.request.phase_rules = &stacks.phase_rules();
    const MomentEvent moment = find_moment_event(reader, selection.request, progress);
    const AllocatorState state =
        find_allocator_state(reader, moment.device, moment.event, progress);
    if (state.segments.empty()) {
        throw TraceError(reader.name() + ": no segments of torch's allocator on device " +
                         std::to_string(moment.device) + " at " + options.selection.at);
    }
    const StateLines lines = lines_of(state, reader, stacks);
    const ReservedCauses causes = find_causes(state);
    const auto line_of = [&](uint32_t context) { return lines.number_of(context); };
    const SegmentPins pins = with_pins ? find_pins(state, line_of) : SegmentPins();
    const StateReport report = {
        reader, state, causes, pins, options.selection.at, lines, options.top, options.paths};
    return document_of(options.form, put, report);
}

}  // namespace

std::string make_map(const TraceReader& reader,
                     const ReportOptions& options,
                     const Progress& progress) {
    return make_state(reader, options, progress, "map", false, put_map);
}

std::string make_fragmentation(const TraceReader& reader,
                               const ReportOptions& options,
                               const Progress& progress) {
    return make_state(reader, options, progress, "fragmentation", true, put_fragmentation);
}

std::string make_whatif(const TraceReader& reader,
                        const ReportOptions& options,
                        const Progress& progress) {
    const Selection selection = parse_selection(options.selection, reader);
    refuse_where(selection, "whatif");
    need_time(reader, "whatif");
    StackLookup stacks(reader.definitions(), selection.frames);
    const WhatIf answer =
        make_whatif_runs(reader, options.whatif, device_of(selection, "whatif"), stacks, progress);
    const WhatIfReport report = {reader, answer, options.whatif, options.top, options.paths};
    return document_of(options.form, put_whatif, report);
}

}  // namespace peakline::report
