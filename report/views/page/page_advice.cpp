#include "page_advice.h"

#include <algorithm>
#include <iterator>

#include "report/views/calls/phases.h"

namespace peakline::report {
namespace {

// Less is not worth a sentence.
constexpr uint64_t kLeastShare = 100;  // of the peak: 1 %

using Intervals = std::vector<const PhaseInterval*>;

Intervals outermost(const PhaseTable& table) {
    Intervals intervals;
    for (const PhaseInterval& interval : table.phases) {
        if (interval.depth == 0) {
            intervals.push_back(&interval);
        }
    }
    return intervals;
}

bool is_zero_grad(const PhaseInterval& interval) {
    return interval.phase == Phase::kZeroGrad;
}

uint64_t gradients_of(const Page& page, const PagePoint& point) {
    const auto& names = page.names.categories;
    const auto found = std::find(names.begin(), names.end(), "gradient");
    const auto at = static_cast<size_t>(found - names.begin());
    return at < std::min(names.size(), point.categories.size()) ? point.categories[at] : 0;
}

// Index of the outermost interval that holds a moment; the last of several.
std::optional<size_t> interval_at(const Intervals& intervals, uint64_t tick) {
    std::optional<size_t> found;
    for (size_t i = 0; i < intervals.size(); ++i) {
        if (intervals[i]->begin_tick <= tick && tick <= intervals[i]->end_tick) {
            found = i;
        }
    }
    return found;
}

// A forward pass, then zero_grad() that frees gradients, then its backward pass.
bool holds_gradients_in_vain(const Intervals& intervals, size_t at, uint32_t slot) {
    return at + 2 < intervals.size() && intervals[at]->phase == Phase::kForward &&
           is_zero_grad(*intervals[at + 1]) &&
           use_of(intervals[at + 1]->uses, slot).freed_bytes > 0 &&
           intervals[at + 2]->phase == Phase::kBackward;
}

// The highest level that an earlier zero_grad() would not lower.
uint64_t highest_beside(const Intervals& intervals, uint32_t slot) {
    uint64_t highest = 0;
    for (size_t i = 0; i < intervals.size(); ++i) {
        const bool follows = i > 0 && holds_gradients_in_vain(intervals, i - 1, slot);
        if (!follows && !holds_gradients_in_vain(intervals, i, slot)) {
            highest = std::max(highest, use_of(intervals[i]->uses, slot).peak_bytes);
        }
    }
    return highest;
}

// The zero_grad() of the pass that an interval belongs to.
std::optional<size_t> zero_grad_before(const Intervals& intervals, size_t at) {
    for (size_t i = at; i-- > 0;) {
        if (is_zero_grad(*intervals[i])) {
            return i;
        }
        if (intervals[i]->phase == Phase::kBackward || intervals[i]->phase == Phase::kOptimizer) {
            return std::nullopt;
        }
    }
    return std::nullopt;
}

// Gradients that were live when an interval began; 0 where the points do not say.
uint64_t gradients_at(const Page& page, uint64_t tick) {
    const std::vector<PagePoint>& points = page.points.points();
    const auto after = std::upper_bound(
        points.begin(), points.end(), tick, [](uint64_t time, const PagePoint& point) {
            return time < point.begin_tick;
        });
    const bool is_known = page.points.events_per_point() == 1 && after != points.begin();
    return is_known ? gradients_of(page, *std::prev(after)) : 0;
}

}  // namespace

std::optional<PageAdvice> find_advice(const Page& page, const PagePeak& peak, uint32_t slot) {
    const PagePoint& point = page.points.points()[peak.point];
    const uint64_t level = point.peak.bytes;
    const Intervals intervals = outermost(page.phases.table);
    const std::optional<size_t> at = interval_at(intervals, point.peak_tick);
    PageAdvice advice;
    advice.gradient_bytes = gradients_of(page, point);
    if (!at.has_value() || advice.gradient_bytes == 0) {
        return std::nullopt;
    }
    if (holds_gradients_in_vain(intervals, *at, slot) &&
        use_of(intervals[*at + 1]->uses, slot).freed_bytes >= advice.gradient_bytes) {
        const uint64_t beside = highest_beside(intervals, slot);
        advice.at_most_bytes = std::min(advice.gradient_bytes, level - std::min(level, beside));
    } else if (const auto zeroed = zero_grad_before(intervals, *at);
               zeroed.has_value() && use_of(intervals[*zeroed]->uses, slot).freed_bytes == 0) {
        advice.kind = AdviceKind::kZeroGradFrees;
        advice.at_most_bytes =
            std::min(advice.gradient_bytes, gradients_at(page, intervals[*zeroed]->begin_tick));
    }
    return advice.at_most_bytes >= std::max<uint64_t>(1, level / kLeastShare)
               ? std::optional(advice)
               : std::nullopt;
}

}  // namespace peakline::report
