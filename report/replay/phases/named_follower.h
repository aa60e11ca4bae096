// The regions of a program that have a name: those that it marks, and the parts of a decoding loop
// that stacks show. They lie beside the phases, and those of one thread may overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/replay/values/level_meter.h"
#include "report/replay/values/phase_table.h"
#include "report/trace/definitions/definitions.h"

namespace peakline::report {

class NamedFollower {
public:
    struct Open {
        uint32_t interval = 0;
        LevelMeter::Window window;
        bool has_ended = false;  // before those that began after it
    };
    // Of a thread. A region is found by its name, not among all that are open.
    struct Track {
        uint32_t thread = 0;
        std::vector<Open> open;  // the last one has not ended
        uint32_t open_count = 0;
        // Of those that the program marks, by string id: slots in `open`, the latest last.
        std::unordered_map<uint32_t, std::vector<size_t>> marked;
        std::optional<size_t> shown;    // by stacks: its slot
        Region region = Region::kNone;  // the one that stacks show
        bool region_is_first = false;   // nothing of the kind before it
    };

    // Both must outlive the follower.
    NamedFollower(const Definitions& definitions, LevelMeter& meter)
        : definitions_(definitions), meter_(meter) {}

    // The program marks the begin and the end of a region. False: none of this name is open.
    void begin(Track& track, uint32_t name, EventTime at);
    bool end(Track& track, uint32_t name, EventTime at);
    // From the first allocation whose stack shows it to the first that does not, or to what the
    // program marks. What a loop of decoding makes before its prefill is a part of that.
    void enter_region(Track& track, Region region, EventTime at);
    void end_all(Track& track, EventTime at);

    std::vector<PhaseInterval> take() { return std::move(named_); }

private:
    // Returns its slot.
    size_t open(Track& track, std::string name, EventTime at);
    void close(Track& track, size_t slot, EventTime at);

    const Definitions& definitions_;
    LevelMeter& meter_;
    std::vector<PhaseInterval> named_;
};

}  // namespace peakline::report
