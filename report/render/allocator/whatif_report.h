// `whatif`: the memory that a run would need under other settings of torch's allocator.
#pragma once

#include <string>

#include "report/render/document/document.h"
#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/allocator/whatif.h"

namespace peakline::report {

struct WhatIfReport {
    const TraceReader& reader;
    const WhatIf& answer;
    const WhatIfText& asked;
    uint64_t top = 0;  // runs shown; 0: all
    const PathDisplay& paths;
};

void put_whatif(Document& document, const WhatIfReport& report);

}  // namespace peakline::report
