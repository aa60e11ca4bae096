// One recorded run as `plan --sizes` needs it: the blocks of a device in the order they were made,
// and the order of allocations and frees.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/attribute/names/label.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/trace/reader.h"
#include "sizes_text.h"

namespace peakline::report {

// Numbers for the origins of blocks, the same for all runs: line and operator. Not the module: the
// same one may have another path in a process with several models.
class OriginNumbers {
public:
    uint32_t of(StackLookup& stacks, uint32_t context);
    const Label& line(uint32_t origin) const { return lines_[line_of_[origin]]; }
    uint32_t line_number(uint32_t origin) const { return line_of_[origin]; }
    const std::string& op(uint32_t origin) const { return ops_[origin]; }

private:
    std::map<std::pair<std::string, std::string>, uint32_t> known_;
    std::map<std::string, uint32_t> known_lines_;
    std::vector<Label> lines_;
    std::vector<uint32_t> line_of_;  // by origin
    std::vector<std::string> ops_;   // by origin
};

enum class RunStep : unsigned char { kAlloc, kFree, kTracingStarted, kTracingStopped };

struct RunEvents {
    struct Event {
        RunStep step = RunStep::kAlloc;
        uint32_t block = 0;
        uint64_t number = 0;  // in the recording
    };

    std::vector<uint32_t> origins;  // by block
    std::vector<uint64_t> bytes;    // requested, by block
    std::vector<uint32_t> spare;    // bytes of the allocator's block beyond the rounding, by block
    std::vector<Event> events;
    uint64_t peak_bytes = 0;       // requested
    uint64_t gradient_bytes = 0;   // most gradients live at one time
    std::optional<StepSize> size;  // by the shapes of its inputs
};

RunEvents read_run(const TraceReader& reader,
                   uint32_t device,
                   StackLookup& stacks,
                   OriginNumbers& origins,
                   const Progress& progress);

// Calls visit(i) after event i, if tracing is on then; add(block, sign) for each event of a block.
template <class Add, class Visit>
void follow_run(const RunEvents& run, Add add, Visit visit) {
    bool is_tracing = false;
    for (size_t i = 0; i < run.events.size(); ++i) {
        const RunEvents::Event& event = run.events[i];
        switch (event.step) {
            case RunStep::kAlloc:
                add(event.block, 1);
                break;
            case RunStep::kFree:
                add(event.block, -1);
                break;
            case RunStep::kTracingStarted:
                is_tracing = true;
                break;
            case RunStep::kTracingStopped:
                is_tracing = false;
                break;
        }
        if (is_tracing) {
            visit(i);
        }
    }
}

}  // namespace peakline::report
