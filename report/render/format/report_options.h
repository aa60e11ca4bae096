// What the callers of a report ask for. Plain data.
#pragma once

#include <cstdint>

#include "path_display.h"
#include "report/views/allocator/whatif_text.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

// kJson: fields for programs. kDocument: what people read, for the renderer; see document.h.
enum class OutputForm { kDocument, kJson };

struct ReportOptions {
    SelectionText selection;
    uint64_t top = 0;           // rows shown; 0: all
    uint64_t min_bytes = 0;     // of tensors: smaller ones are counted only
    uint32_t search = 0;        // of holders: which search; 0: the last one
    bool with_findings = true;  // of leaks; they take half of its time
    WhatIfText whatif;
    PathDisplay paths;
    OutputForm form = OutputForm::kDocument;
};

}  // namespace peakline::report
