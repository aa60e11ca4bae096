#include "growth_rates.h"

#include <cmath>
#include <optional>

namespace peakline::report {

const char* unit_name(GrowthUnit unit) {
    switch (unit) {
        case GrowthUnit::kStep:
            return "step";
        case GrowthUnit::kGeneration:
            return "generate";
        case GrowthUnit::kPass:
            return "pass";
        case GrowthUnit::kTime:
            break;
    }
    return "time";
}

UnitWords words_of(GrowthUnit unit) {
    switch (unit) {
        case GrowthUnit::kStep:
            return {"steps", "step", "From step"};
        case GrowthUnit::kGeneration:
            return {"calls of generate()", "call", "From call"};
        case GrowthUnit::kPass:
            return {"forward passes", "pass", "From pass"};
        case GrowthUnit::kTime:
            break;
    }
    return {"parts of the run", "second", "From"};
}

double per_unit(const LeaksReport& report, const GrowthFit& fit, double per_sample) {
    const GrowthMoments& moments = report.growth.moments;
    return moments.unit == GrowthUnit::kTime
               ? per_sample /
                     (report.reader.seconds(1) * report.growth.ticks_per_sample(fit.sample))
               : per_sample / static_cast<double>(moments.units_per_sample);
}

std::string moment_of(const LeaksReport& report, size_t sample) {
    return report.growth.moments.unit == GrowthUnit::kTime
               ? format_seconds(report.reader.seconds(report.growth.ticks[sample]))
               : std::to_string(report.growth.moments.first_units[sample]);
}

void put_moment(JsonWriter& json,
                const LeaksReport& report,
                const std::string& name,
                size_t sample) {
    const GrowthMoments& moments = report.growth.moments;
    const bool has_steps = moments.unit != GrowthUnit::kTime;
    json.key(name + "_step");
    has_steps ? json.value(moments.first_units[sample]) : json.null();
    json.key(name + "_seconds");
    has_steps ? json.null() : json.value(report.reader.seconds(report.growth.ticks[sample]));
}

void put_rate(JsonWriter& json,
              const LeaksReport& report,
              const std::string& name,
              const GrowthFit& fit,
              double per_sample) {
    const bool has_steps = report.growth.moments.unit != GrowthUnit::kTime;
    const double rate = per_unit(report, fit, per_sample);
    json.field(name + "_per_step", has_steps ? std::optional(rate) : std::nullopt);
    json.field(name + "_per_second", has_steps ? std::nullopt : std::optional(rate));
}

std::string blocks_text(const LeaksReport& report, const GrowthFit& fit) {
    if (fit.is_replaced) {
        return "as many, larger";
    }
    const double blocks = per_unit(report, fit, fit.blocks_per_sample);
    const double every = 1 / blocks;
    const std::string unit = words_of(report.growth.moments.unit).one;
    if (blocks < 1 && std::round(every) > 1) {
        return "1 every " + std::to_string(std::llround(every)) + " " + unit + "s";
    }
    return std::to_string(std::llround(blocks)) + " per " + unit;
}

}  // namespace peakline::report
