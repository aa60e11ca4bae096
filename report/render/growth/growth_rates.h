// Moments and rates of `leaks`, in the unit of the run: a step, a call of generate(), a forward
// pass, or a second.
#pragma once

#include <cstddef>
#include <string>

#include "leaks_report.h"

namespace peakline::report {

// "step", "generate", "pass" or "time", as JSON has it.
const char* unit_name(GrowthUnit unit);

struct UnitWords {
    const char* many;
    const char* one;     // "per step"
    const char* column;  // head of its column
};
UnitWords words_of(GrowthUnit unit);

// A rate per unit, or per second in a run without steps. A sample is one or more units, or a part
// of the run.
double per_unit(const LeaksReport& report, const GrowthFit& fit, double per_sample);
// "12", or "3.4 s" in a run without steps.
std::string moment_of(const LeaksReport& report, size_t sample);
// "2 per step", "1 every 4 steps"
std::string blocks_text(const LeaksReport& report, const GrowthFit& fit);

// Fields NAME_step and NAME_seconds, or NAME_per_step and NAME_per_second, of an open object; one
// of them is null.
void put_moment(JsonWriter& json,
                const LeaksReport& report,
                const std::string& name,
                size_t sample);
void put_rate(JsonWriter& json,
              const LeaksReport& report,
              const std::string& name,
              const GrowthFit& fit,
              double per_sample);

}  // namespace peakline::report
