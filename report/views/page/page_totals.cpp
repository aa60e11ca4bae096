#include "page_totals.h"

#include <algorithm>

namespace peakline::report {

void TemporaryBlocks::on_alloc(uint32_t thread, uint64_t ordinal, bool is_wanted) {
    if (thread >= threads_.size()) {
        threads_.resize(thread + 1);
    }
    Newest& newest = threads_[thread];
    newest.ordinals[newest.next] = is_wanted ? ordinal + 1 : 0;
    newest.next = (newest.next + 1) % newest.ordinals.size();
}

bool TemporaryBlocks::is_temporary(uint32_t thread, uint64_t ordinal) const {
    if (thread >= threads_.size()) {
        return false;
    }
    const auto& ordinals = threads_[thread].ordinals;
    return std::find(ordinals.begin(), ordinals.end(), ordinal + 1) != ordinals.end();
}

void PageTotals::set_left(const std::vector<PageChange>& live) {
    left.clear();
    for (const PageChange& one : live) {
        left.resize(std::max<size_t>(left.size(), one.context + 1));
        left[one.context] = {static_cast<uint64_t>(one.bytes), static_cast<uint64_t>(one.count)};
    }
}

}  // namespace peakline::report
