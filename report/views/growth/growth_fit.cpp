#include "growth_fit.h"

#include <algorithm>
#include <optional>

namespace peakline::report {
namespace {

using Numbers = std::vector<int64_t>;

constexpr size_t kLeastRise = 3;  // rising samples before a fall
constexpr size_t kLeastFalls = 2;

Numbers floor_of(const Numbers& levels) {
    Numbers floor = levels;
    for (size_t i = floor.size() - 1; i > 0; --i) {
        floor[i - 1] = std::min(floor[i - 1], floor[i]);
    }
    return floor;
}

// Number of windows, from the last sample back, in which both floors rise.
size_t rising_windows(const Numbers& bytes, const Numbers* counts, size_t width) {
    const size_t last = bytes.size() - 1;
    size_t count = 0;
    while ((count + 1) * width <= last) {
        const size_t end = last - count * width;
        const size_t begin = end - width;
        if (bytes[end] <= bytes[begin] ||
            (counts != nullptr && (*counts)[end] <= (*counts)[begin])) {
            break;
        }
        ++count;
    }
    return count;
}

// Range of samples for a rate.
struct Span {
    size_t begin = 0;
    size_t end = 0;
    bool is_regular = false;  // whole periods: their levels compare, whatever happens within one
};

// Finds a range up to `end` with equal gains from period to period, through at least half
// of the samples after `begin`.
std::optional<Span> regular_span(const Numbers& levels, size_t begin, size_t end) {
    for (size_t period = 1; 2 * period <= end - begin; ++period) {
        const int64_t gain = levels[end] - levels[end - period];
        size_t regular = 0;
        while (end - regular >= begin + period &&
               levels[end - regular] - levels[end - regular - period] == gain) {
            ++regular;
        }
        if (gain > 0 && regular > period && (regular + period) * 2 > levels.size() - 1 - begin) {
            return Span{end - (regular + period - 1) / period * period, end, true};
        }
    }
    return std::nullopt;
}

// The last window may be left out, because the end of a run affects the memory of its last steps.
std::optional<Span> regular_span_at_end(const Numbers& levels, size_t begin, size_t width) {
    const size_t last = levels.size() - 1;
    for (size_t end = last; end + width >= last && end > begin; --end) {
        if (const std::optional<Span> span = regular_span(levels, begin, end)) {
            return span;
        }
    }
    return std::nullopt;
}

// The range without the samples at the beginning that rose more than any later one: those are
// warm-up.
Span span_after_warm_up(const Numbers& floor, size_t begin) {
    const size_t last = floor.size() - 1;
    std::vector<int64_t> most_later(last + 1, 0);
    for (size_t i = last; i > begin; --i) {
        most_later[i - 1] = std::max(most_later[i], floor[i] - floor[i - 1]);
    }
    const size_t latest = begin + (last - begin) / 4;
    while (begin < latest && floor[begin + 1] - floor[begin] > most_later[begin + 1]) {
        ++begin;
    }
    return {begin, last};
}

double rate_of(const Numbers& levels, const Span& span) {
    return static_cast<double>(levels[span.end] - levels[span.begin]) /
           static_cast<double>(span.end - span.begin);
}

bool never_falls(const Numbers& levels, size_t begin) {
    return std::is_sorted(levels.begin() + static_cast<std::ptrdiff_t>(begin), levels.end());
}

class Fitter {
public:
    explicit Fitter(const LevelSeries& series)
        : series_(series),
          bytes_(floor_of(series.bytes)),
          requested_(floor_of(series.requested)),
          counts_(floor_of(series.counts)) {}

    std::optional<GrowthFit> grows(size_t width) const {
        size_t kept = rising_windows(requested_, &counts_, width);
        if (is_enough(&kept, width, kLeastWindows)) {
            return fit(width, kept, false);
        }
        size_t replaced = rising_windows(requested_, nullptr, width);
        if (is_enough(&replaced, width, kLeastWindowsReplaced) &&
            never_falls(series_.requested, begin_of(replaced, width))) {
            return fit(width, replaced, true);
        }
        return std::nullopt;
    }

    std::optional<GrowthFit> levelled_off() const {
        const Numbers& levels = series_.bytes;
        const size_t last = levels.size() - 1;
        const bool is_still = levels[last] == levels[last - last / 4];
        if (!is_still || levels[last] == levels[1] || !never_falls(levels, 1)) {
            return std::nullopt;
        }
        GrowthFit fit;
        fit.kind = GrowthKind::kLevelledOff;
        fit.level_bytes = levels[last];
        fit.sample = static_cast<size_t>(
            std::lower_bound(levels.begin(), levels.end(), levels[last]) - levels.begin());
        return fit;
    }

    std::optional<GrowthFit> returns() const {
        const Numbers& levels = series_.bytes;
        const auto [least, most] = std::minmax_element(levels.begin(), levels.end());
        GrowthFit fit;
        size_t risen = 0;
        for (size_t i = 1; i < levels.size(); ++i) {
            fit.fall_count +=
                risen >= kLeastRise && levels[i - 1] - levels[i] > (*most - *least) / 2 ? 1 : 0;
            risen = levels[i] > levels[i - 1] ? risen + 1 : 0;
        }
        if (fit.fall_count < kLeastFalls) {
            return std::nullopt;
        }
        fit.kind = GrowthKind::kReturns;
        fit.level_bytes = *most;
        return fit;
    }

private:
    size_t begin_of(size_t windows, size_t width) const {
        return requested_.size() - 1 - windows * width;
    }

    // Leaves out the first window if only the first step's gain prevents a match.
    bool is_enough(size_t* windows, size_t width, size_t least) const {
        if (shows_growth(*windows, width, least)) {
            return true;
        }
        const bool has_first_step = *windows != 0 && begin_of(*windows, width) < width;
        return has_first_step && shows_growth(--*windows, width, least);
    }

    bool shows_growth(size_t windows, size_t width, size_t least) const {
        const size_t last = requested_.size() - 1;
        const size_t begin = begin_of(windows, width);
        if (windows < least || windows * width * 4 < last) {
            return false;
        }
        const int64_t gain = requested_[last] - requested_[begin];
        const int64_t second_half = requested_[last] - requested_[last - windows / 2 * width];
        const auto before = series_.requested.begin();
        const int64_t highest =
            *std::max_element(before, before + static_cast<std::ptrdiff_t>(begin + 1));
        return second_half >= gain / 4 && gain - second_half >= gain / 4 &&
               series_.requested[last] > highest;
    }

    GrowthFit fit(size_t width, size_t windows, bool is_replaced) const {
        const size_t begin = begin_of(windows, width);
        GrowthFit fit;
        fit.kind = GrowthKind::kGrows;
        fit.window = width;
        fit.is_replaced = is_replaced;
        fit.sample = begin + 1;
        while (requested_[fit.sample] == requested_[begin]) {
            ++fit.sample;
        }
        fit.gained_bytes = bytes_.back() - bytes_[begin];
        const std::optional<Span> regular = regular_span_at_end(series_.bytes, begin, width);
        const Span span = regular.value_or(span_after_warm_up(bytes_, begin));
        fit.bytes_per_sample = rate_of(span.is_regular ? series_.bytes : bytes_, span);
        fit.blocks_per_sample =
            is_replaced ? 0 : rate_of(span.is_regular ? series_.counts : counts_, span);
        fit.level_bytes = bytes_.back();
        return fit;
    }

    const LevelSeries& series_;
    // The floors of the series.
    Numbers bytes_;
    Numbers requested_;
    Numbers counts_;
};

}  // namespace

GrowthFit fit_growth(const LevelSeries& series) {
    if (series.bytes.size() < kLeastSamples) {
        return {};
    }
    const Fitter fitter(series);
    for (size_t width = 1; width * kLeastWindows < series.bytes.size(); ++width) {
        if (const std::optional<GrowthFit> fit = fitter.grows(width)) {
            return *fit;
        }
    }
    if (const std::optional<GrowthFit> fit = fitter.levelled_off()) {
        return *fit;
    }
    return fitter.returns().value_or(GrowthFit());
}

}  // namespace peakline::report
