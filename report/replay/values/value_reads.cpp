#include "value_reads.h"

#include <algorithm>

namespace peakline::report {

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

}  // namespace peakline::report
