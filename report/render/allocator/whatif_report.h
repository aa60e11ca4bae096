// What a run would need under other settings of torch's allocator, as text and JSON.
#pragma once

#include <string>

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

std::string whatif_text(const WhatIfReport& report);
std::string whatif_json(const WhatIfReport& report);

}  // namespace peakline::report
