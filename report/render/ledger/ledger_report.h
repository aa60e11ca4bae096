// `ledger`: the whole device at one moment.
#pragma once

#include <string>
#include <vector>

#include "report/render/document/document.h"
#include "report/trace/reader.h"
#include "report/views/ledger/ledger.h"

namespace peakline::report {

struct LedgerReport {
    const TraceReader& reader;
    const Ledger& ledger;
    std::vector<LedgerPart> shared;  // with other processes
    std::string at;                  // the moment, in words
    uint64_t top;                    // lines shown per library; 0: all
    PathDisplay paths;
};

void put_ledger(Document& document, const LedgerReport& report);

}  // namespace peakline::report
