// The whole device at one moment: what torch holds, what libraries hold, what nobody asked for, and
// what cannot be explained. The parts and the unexplained rest sum to what the driver says is in
// use.
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
    // Not of the device.
    kPinned,
    kRegistered,
    kManaged,
    kImported,
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
    uint64_t count = 0;             // of requests; 0: it has none
    std::vector<LedgerLine> lines;  // of a library: who asked, most bytes first
};

struct Ledger {
    uint32_t device = 0;
    uint64_t tick = 0;
    uint64_t total_bytes = 0;
    int64_t used_bytes = 0;
    std::vector<LedgerPart> parts;
    std::vector<LedgerPart> beside;  // memory of the host, and of others
    int64_t unexplained_bytes = 0;
    // Found at the first sample after the moment, to have grown by itself: before it or after it.
    int64_t next_growth_bytes = 0;
    // False: what other processes hold is in the part of the context, and in what is unexplained.
    bool knows_others = false;
};

// At the moment that `selection` names. Throws TraceError when the trace cannot answer.
Ledger make_ledger(const TraceReader& reader,
                   const Selection& selection,
                   StackLookup& stacks,
                   const Progress& progress);

// The same at a moment that is known.
Ledger make_ledger_at(const TraceReader& reader,
                      const MomentEvent& moment,
                      StackLookup& stacks,
                      const Progress& progress);
// nullopt where the trace does not say what is in use then. Of a trace with all events.
std::optional<Ledger> find_ledger_at(const TraceReader& reader,
                                     const MomentEvent& at,
                                     StackLookup& stacks,
                                     const Progress& progress);

const char* part_kind_name(PartKind kind);

}  // namespace peakline::report
