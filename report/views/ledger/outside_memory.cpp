#include "outside_memory.h"

#include <algorithm>
#include <map>

namespace peakline::report {
namespace {

// A pass over this many events takes about a second.
constexpr uint64_t kMostEvents = 20'000'000;
// Every program has a context. The rest is worth a line from this size on.
constexpr int64_t kLeastBytes = 256 << 20;  // cuBLAS takes half of it in any program
constexpr int64_t kLeastPart = 50;          // part of the used bytes

bool can_answer(const TraceReader& reader) {
    const RecordedTotals* const totals = reader.whole_totals();
    return reader.has_events() && !reader.is_bounded() && totals != nullptr &&
           totals->event_count <= kMostEvents &&
           totals->extended_count(format::ExtendedType::kDriverSample) != 0;
}

std::string group_of(const LedgerPart& part) {
    switch (part.kind) {
        case PartKind::kLibrary:
            return part.name.substr(0, part.name.find(','));  // without its communicator
        case PartKind::kContext:
        case PartKind::kRounding:
            return "context and code";
        default:
            return part.name;
    }
}

}  // namespace

std::optional<Ledger> find_peak_ledger(const TraceReader& reader,
                                       const DeviceTotals& device,
                                       StackLookup& stacks,
                                       const Progress& progress) {
    if (!can_answer(reader)) {
        return std::nullopt;
    }
    const MomentEvent peak = {UINT64_MAX, device.peak_tick, device.device, device.peak_tick};
    return find_ledger_at(reader, peak, stacks, progress);
}

std::optional<OutsideMemory> outside_memory(const Ledger& ledger) {
    const bool is_without_torch =
        std::none_of(ledger.parts.begin(), ledger.parts.end(), [](const LedgerPart& part) {
            return part.kind == PartKind::kTorch;
        });
    OutsideMemory outside;
    std::map<std::string, int64_t> groups;
    int64_t unusual_bytes = 0;
    for (const LedgerPart& part : ledger.parts) {
        const bool is_in_table =
            part.kind == PartKind::kTorch || (is_without_torch && part.kind == PartKind::kLibrary);
        if (!is_in_table) {
            groups[group_of(part)] += part.bytes;
            outside.bytes += part.bytes;
            unusual_bytes += part.kind == PartKind::kContext ? 0 : part.bytes;
        }
    }
    groups["unexplained"] += ledger.unexplained_bytes;
    outside.bytes += ledger.unexplained_bytes;
    unusual_bytes += ledger.unexplained_bytes;
    if (unusual_bytes < kLeastBytes || unusual_bytes * kLeastPart < ledger.used_bytes) {
        return std::nullopt;
    }
    for (const auto& [name, bytes] : groups) {
        if (bytes != 0) {
            outside.parts.push_back({name, bytes});
        }
    }
    std::stable_sort(outside.parts.begin(), outside.parts.end(), [](const auto& a, const auto& b) {
        return a.bytes > b.bytes;
    });
    return outside;
}

}  // namespace peakline::report
