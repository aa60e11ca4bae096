#include "serving_setting.h"

#include <vector>

#include "report/trace/file/trace_error.h"
#include "report/views/allocator/whatif.h"

namespace peakline::report {
namespace {

// Takes at most a second; `whatif --search` has no limit.
constexpr uint64_t kMaxAllocs = 500'000;
// The setting without cost.
constexpr const char* kHarmless = "expandable_segments:True";

bool may_be_served(const Autopsy& autopsy) {
    switch (autopsy.reason) {
        case RefusalReason::kFragmented:
        case RefusalReason::kOtherStream:
        case RefusalReason::kPinned:
            return autopsy.refused.earlier == nullptr;
        default:
            return false;
    }
}

}  // namespace

ServingSetting find_serving_setting(const TraceReader& reader,
                                    const Autopsy& autopsy,
                                    StackLookup& stacks,
                                    const Progress& progress) {
    if (!may_be_served(autopsy) || reader.max_alloc_count() > kMaxAllocs) {
        return {};
    }
    WhatIfText text;
    text.searches = true;
    try {
        const WhatIf answer =
            make_whatif_runs(reader, text, autopsy.refused.request.device, stacks, progress);
        ServingSetting found;
        found.is_known = answer.device_bytes != 0 && !answer.runs.empty();
        for (const WhatIfRun& run : found.is_known ? answer.runs : std::vector<WhatIfRun>()) {
            const std::string& setting = run.prediction.request.settings.text;
            const auto& refused = run.prediction.refused;
            const bool is_served = !refused || refused->event > autopsy.refused.event;
            if (is_served && (found.text.empty() || setting == kHarmless)) {
                found.text = setting;
            }
        }
        return found;
    } catch (const TraceError&) {
        return {};  // pools or settings that the model does not know
    }
}

}  // namespace peakline::report
