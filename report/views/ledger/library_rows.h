// Requests to the driver by the requesting library, and by line within each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "driver_memory.h"
#include "ledger.h"
#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

class LibraryRows {
public:
    explicit LibraryRows(StackLookup& stacks) : stacks_(stacks) {}

    void add(const DriverRequest& request);
    // Most bytes first.
    void put(PartKind kind, std::vector<LedgerPart>* parts) const;

private:
    struct Row {
        uint64_t bytes = 0;
        uint64_t count = 0;
        std::map<std::string, LedgerLine> lines;  // by key
    };

    StackLookup& stacks_;
    // By library and purpose: a communicator of NCCL.
    std::map<std::pair<std::string, std::string>, Row> rows_;
};

}  // namespace peakline::report
