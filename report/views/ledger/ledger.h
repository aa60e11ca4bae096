// The whole device at one moment: the memory of torch, of libraries, of nobody that made a request,
// and the unexplained rest. The parts and the rest sum to the driver's number of used bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "moment_event.h"
#include "report/attribute/names/label.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

// In the order of the ledger.
enum class PartKind : uint8_t {
    kTorch,
    kLibrary,
    kPool,
    kGraphs,
    kContext,
    kRounding,
    kOthers,
    // Not memory of the device.
    kPinned,
    kRegistered,
    kManaged,
    // Shared with other processes.
    kOpened,
    kExported,
};

struct LedgerLine {
    Label label;
    uint64_t bytes = 0;
    uint64_t count = 0;
};

struct LedgerPart {
    std::string name;
    PartKind kind{};
    int64_t bytes = 0;
    uint64_t count = 0;             // number of requests; 0: it has none
    std::vector<LedgerLine> lines;  // for a library: the requesting lines, most bytes first
};

// Memory that this process shares with others, by the driver's handle. Exported memory is in the
// parts of the ledger, too; opened memory counts in its own process.
struct SharedPart {
    PartKind kind{};
    std::string number;  // the same in all processes; empty: it has none
    uint64_t bytes = 0;
    LedgerLine line = {};  // the line that requested or opened it
};

struct Ledger {
    uint32_t device = 0;
    uint64_t tick = 0;
    uint64_t total_bytes = 0;
    int64_t used_bytes = 0;
    std::vector<LedgerPart> parts;
    std::vector<LedgerPart> beside;  // memory of the host
    std::vector<SharedPart> shared;  // most bytes first
    int64_t unexplained_bytes = 0;
    // Growth without a record, found at the first sample after the moment: it came before or after
    // it.
    int64_t next_growth_bytes = 0;
    // False: the memory of other processes is in the parts of the context and of the rest.
    bool knows_others = false;
};

// Makes the ledger at the moment of `selection`. Throws TraceError when the trace lacks the
// records.
Ledger make_ledger(const TraceReader& reader,
                   const Selection& selection,
                   StackLookup& stacks,
                   const Progress& progress);

// The same at a known moment.
Ledger make_ledger_at(const TraceReader& reader,
                      const MomentEvent& moment,
                      StackLookup& stacks,
                      const Progress& progress);
// For a trace with all events. nullopt when it lacks the used bytes of then.
std::optional<Ledger> find_ledger_at(const TraceReader& reader,
                                     const MomentEvent& at,
                                     StackLookup& stacks,
                                     const Progress& progress);

const char* part_kind_name(PartKind kind);

}  // namespace peakline::report
