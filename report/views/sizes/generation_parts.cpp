#include "generation_parts.h"

#include "report/replay/replay.h"

namespace peakline::report {

GenerationParts generation_of(const TraceReader& reader,
                              const Selection& selection,
                              StackLookup& stacks,
                              const Progress& progress) {
    const PhasesOfDevice found =
        replay_phases_of_device(reader, stacks.phase_rules(), selection.request, progress);
    const PhaseTable& table = found.phases.table;
    GenerationParts parts;
    parts.decoding = find_phase(table, kRegionNames[static_cast<size_t>(Region::kDecode)]);
    if (parts.decoding.empty()) {
        return parts;
    }
    const EventRange& last = parts.decoding.back();
    parts.new_tokens = 1;  // of the prefill
    for (const PhaseInterval& interval : table.phases) {
        const bool is_pass = interval.phase == Phase::kForward && interval.depth == 0;
        if (is_pass && last.begin <= interval.begin_event && interval.begin_event < last.end) {
            parts.new_tokens += std::max<size_t>(1, interval.parts.size());
        }
    }
    return parts;
}

}  // namespace peakline::report
