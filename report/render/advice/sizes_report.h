// `plan --sizes`: the peak at sizes that were never run. JSON schema: JSON.md.
#pragma once

#include "report/render/document/document.h"
#include "report/trace/reader.h"
#include "report/views/sizes/size_prediction.h"

namespace peakline::report {

struct SizesReport {
    const TraceReader& reader;
    const SizePrediction& prediction;
    uint64_t budget_bytes = 0;  // 0: none
    uint64_t top = 0;
    const PathDisplay& paths;
};

void put_sizes(Document& document, const SizesReport& report);

}  // namespace peakline::report
