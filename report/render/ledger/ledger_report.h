// `ledger`: the whole device at one moment, in two forms.
#pragma once

#include <string>

#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/ledger/ledger.h"

namespace peakline::report {

struct LedgerReport {
    const TraceReader& reader;
    const Ledger& ledger;
    std::string at;  // as it was asked for
    uint64_t top;    // lines of each library; 0: all
    PathDisplay paths;
};

std::string ledger_text(const LedgerReport& report);
std::string ledger_json(const LedgerReport& report);

}  // namespace peakline::report
