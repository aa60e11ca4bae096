// `leaks`: growth, and memory left at the end. JSON schema: JSON.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/render/document/document.h"
#include "report/render/format/path_display.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"
#include "report/views/advice/advice.h"
#include "report/views/growth/growth.h"
#include "report/views/growth/left_at_end.h"
#include "report/views/growth/reserved_growth.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct LeaksReport {
    const TraceReader& reader;
    const Selection& selection;
    const ReplayResult& result;
    const Growth& growth;
    const std::optional<ReservedGrowth>& reserved;
    const std::vector<LeftRow>& left;
    const std::vector<Advice>& findings;  // about blocks that outlive their purpose
    uint64_t top = 0;                     // rows shown per list; 0: all
    PathDisplay paths;
};

// "lengths rose from 64 to 1,500 tokens: 21.00 KB per token"
std::string inputs_sentence(const FollowedInputs& inputs);
// "cached on 24 streams: a free block is reused only on the stream that it was made on; ..."
std::string cause_sentence(const ReservedGrowth& growth);

void put_leaks(Document& document, const LeaksReport& report);

}  // namespace peakline::report
