// Counts the reads of values that a simulated device does not have. A visitor feeds it; reports
// without one make a pass of their own.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "report/trace/events/event_decoder.h"
#include "report/trace/reader.h"
#include "report/trace/summary/recorded_totals.h"

namespace peakline::report {

class ValueReadCounter {
public:
    void on_rare(const RareEvent& event);
    std::vector<ValueRead> take() const;

private:
    struct Sum {
        uint64_t count = 0;
        uint64_t bytes = 0;
    };
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Sum> sums_;
};

// All reads of a trace: the recorder's counts, else counted from the events. None for a real
// device.
std::vector<ValueRead> read_value_reads(const TraceReader& reader);

}  // namespace peakline::report
