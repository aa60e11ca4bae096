// The options of a report. Plain data, filled by the callers.
#pragma once

#include <cstdint>

#include "path_display.h"
#include "report/views/allocator/whatif_text.h"
#include "report/views/plan/plan_text.h"
#include "report/views/selection/selection.h"
#include "report/views/sizes/sizes_text.h"

namespace peakline::report {

// kJson: fields for programs. kDocument: elements for people, for the renderer; see document.h.
enum class OutputForm { kDocument, kJson };

struct ReportOptions {
    SelectionText selection;
    uint64_t top = 0;           // rows shown; 0: all
    uint64_t min_bytes = 0;     // for tensors: smaller ones are only counted
    uint32_t search = 0;        // for holders: number of the search; 0: the last one
    bool with_findings = true;  // for leaks: they take half of its time
    WhatIfText whatif;
    PlanText plan;
    SizesText sizes;
    PathDisplay paths;
    OutputForm form = OutputForm::kDocument;
};

}  // namespace peakline::report
