// `oom`: why a request was refused. JSON schema: JSON.md.
#pragma once

#include <cstdint>
#include <vector>

#include "report/render/document/document.h"
#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/ledger/ledger.h"
#include "report/views/refused/refused_holders.h"
#include "report/views/refused/refused_lines.h"
#include "report/views/refused/serving_setting.h"

namespace peakline::report {

struct OomReport {
    const TraceReader& reader;
    const RefusedRequests& refused;
    const Autopsy& autopsy;
    std::vector<RefusedLine> others;  // most requests first; without the shown request
    const RefusedHolders* holders;    // nullptr: none are known
    ServingSetting serving;
    std::vector<LedgerPart> shared;  // with other processes
    uint64_t top;                    // rows shown; 0: all
    PathDisplay paths;
};

void put_oom(Document& document, const OomReport& report);
// For programs: the document of a trace without refused requests.
void put_no_oom(Document& document, const TraceReader& reader);

}  // namespace peakline::report
