// The regions of a program that have a name: those that it marks, and the parts of a decoding loop
// that stacks show. They lie beside the phases, and those of one thread may overlap.
#pragma once

#include <cstdint>
#include <string>
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
        bool is_marked = false;  // by the program; else shown by stacks
        uint32_t name = 0;       // string id of the mark
        LevelMeter::WindowId window = 0;
    };
    // Of a thread.
    struct Track {
        uint32_t thread = 0;
        std::vector<Open> open;
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
    void open(Track& track, std::string name, Open opened, EventTime at);
    void close(Track& track, size_t slot, EventTime at);

    const Definitions& definitions_;
    LevelMeter& meter_;
    std::vector<PhaseInterval> named_;
};

}  // namespace peakline::report
