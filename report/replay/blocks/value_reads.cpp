#include "value_reads.h"

namespace peakline::report {

void ValueReadCounter::on_rare(const RareEvent& event) {
    const auto fits = [&event](int field) { return event.fields[field] <= UINT32_MAX; };
    if (event.type != format::ExtendedType::kValueRead || !fits(0) || !fits(2) || !fits(3)) {
        return;
    }
    Sum& sum = sums_[{static_cast<uint32_t>(event.fields[0]),
                      static_cast<uint32_t>(event.fields[2]),
                      static_cast<uint32_t>(event.fields[3])}];
    ++sum.count;
    sum.bytes += event.fields[1];
}

std::vector<ValueRead> ValueReadCounter::take() const {
    std::vector<ValueRead> reads;
    for (const auto& [key, sum] : sums_) {
        const auto& [context, operators, flags] = key;
        reads.push_back({context, operators, flags, sum.count, sum.bytes});
    }
    return reads;
}

}  // namespace peakline::report
