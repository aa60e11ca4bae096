#include "value_reads.h"

#include <algorithm>

namespace peakline::report {
namespace {

struct ReadsVisitor {
    void on_alloc_class(uint64_t, uint64_t, uint32_t, uint64_t) {}
    void on_alloc_inline(uint64_t, uint64_t, const AllocationShape&, uint64_t) {}
    void on_free(uint64_t, uint64_t, FreeKind, uint32_t) {}
    void on_unmatched_free(uint64_t) {}
    void on_rare(uint64_t, const RareEvent& event) { counter.on_rare(event); }

    ValueReadCounter counter;
};

}  // namespace

void ValueReadCounter::on_rare(const RareEvent& event) {
    const auto read = event.as<format::ValueRead>();
    if (!read.has_value() || std::max({read->context, read->operators, read->flags}) > UINT32_MAX) {
        return;
    }
    Sum& sum = sums_[{static_cast<uint32_t>(read->context),
                      static_cast<uint32_t>(read->operators),
                      static_cast<uint32_t>(read->flags)}];
    ++sum.count;
    sum.bytes += read->bytes;
}

std::vector<ValueRead> ValueReadCounter::take() const {
    std::vector<ValueRead> reads;
    for (const auto& [key, sum] : sums_) {
        const auto& [context, operators, flags] = key;
        reads.push_back({context, operators, flags, sum.count, sum.bytes});
    }
    return reads;
}

std::vector<ValueRead> read_value_reads(const TraceReader& reader) {
    if (reader.definitions().meta_text("simulated").empty()) {
        return {};
    }
    if (const RecordedTotals* const totals = reader.whole_totals()) {
        return totals->value_reads;
    }
    ReadsVisitor visitor;
    reader.read_events(visitor);
    return visitor.counter.take();
}

}  // namespace peakline::report
