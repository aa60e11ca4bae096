// `plan`: the cheapest layers to checkpoint under a budget. JSON schema: JSON.md.
#pragma once

#include <string>
#include <vector>

#include "report/render/document/document.h"
#include "report/trace/reader.h"
#include "report/views/plan/plan.h"

namespace peakline::report {

struct PlanReport {
    const TraceReader& reader;
    const PlanText& text;
    const Plan& plan;
};

// "h.0-h.5, head.1": neighbours with consecutive numbers are one range.
std::string layer_ranges(const std::vector<std::string>& layers);

void put_plan(Document& document, const PlanReport& report);

}  // namespace peakline::report
