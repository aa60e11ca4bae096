// The named regions of a program: those that it marks, and the parts of a decoding loop that stacks
// show. They are separate from the phases, and regions of one thread may overlap.
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
        bool has_ended = false;  // although later ones are still open
    };
    // The regions of one thread. A region is found by its name, without scanning all open ones.
    struct Track {
        uint32_t thread = 0;
        std::vector<Open> open;  // the last one has not ended
        uint32_t open_count = 0;
        // Marked regions by string id: slots in `open`, the latest last.
        std::unordered_map<uint32_t, std::vector<size_t>> marked;
        std::optional<size_t> shown;    // slot of the region that stacks show
        Region region = Region::kNone;  // kind of that region
        bool region_is_first = false;   // no region of this kind came before it
    };

    // Both must outlive the follower.
    NamedFollower(const Definitions& definitions, LevelMeter& meter)
        : definitions_(definitions), meter_(meter) {}

    // The program marks the beginning and the end of a region. False: no region of this name is
    // open.
    void begin(Track& track, uint32_t name, EventTime at);
    bool end(Track& track, uint32_t name, EventTime at);
    // A region lasts from the first allocation with its stack to the first without, or to a mark.
    // Allocations of a decoding loop before its prefill belong to the prefill.
    void enter_region(Track& track, Region region, EventTime at);
    void end_all(Track& track, EventTime at);

    std::vector<PhaseInterval> take() { return std::move(named_); }

private:
    // Returns the slot of the region.
    size_t open(Track& track, std::string name, EventTime at);
    void close(Track& track, size_t slot, EventTime at);

    const Definitions& definitions_;
    LevelMeter& meter_;
    std::vector<PhaseInterval> named_;
};

}  // namespace peakline::report
