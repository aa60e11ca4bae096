#include "run_alignment.h"

#include <algorithm>

namespace peakline::report {
namespace {

// The part between the common beginning and the common end.
class Middle {
public:
    Middle(const std::vector<uint32_t>& base, const std::vector<uint32_t>& other)
        : base_(base), other_(other) {
        const size_t shorter = std::min(base.size(), other.size());
        while (begin_ < shorter && base[begin_] == other[begin_]) {
            ++begin_;
        }
        while (tail_ < shorter - begin_ &&
               base[base.size() - 1 - tail_] == other[other.size() - 1 - tail_]) {
            ++tail_;
        }
    }

    std::optional<std::vector<uint32_t>> align(size_t most) {
        pairs_.assign(base_.size(), kNotAligned);
        for (size_t i = 0; i < begin_; ++i) {
            pairs_[i] = static_cast<uint32_t>(i);
        }
        for (size_t i = 0; i < tail_; ++i) {
            pairs_[base_.size() - 1 - i] = static_cast<uint32_t>(other_.size() - 1 - i);
        }
        const auto steps = static_cast<int64_t>(std::min(most, base_.size() + other_.size()));
        for (int64_t differences = 0; differences <= steps; ++differences) {
            if (reach_end(differences)) {
                trace_back(differences);
                return pairs_;
            }
        }
        return std::nullopt;
    }

private:
    int64_t base_count() const { return static_cast<int64_t>(base_.size() - begin_ - tail_); }
    int64_t other_count() const { return static_cast<int64_t>(other_.size() - begin_ - tail_); }

    // In base, on diagonal k = (place in base) - (place in other), after so many differences.
    int64_t& furthest(std::vector<int64_t>& row, int64_t k) const {
        return row[static_cast<size_t>(k + static_cast<int64_t>(row.size() / 2))];
    }

    // The diagonal with one difference less from which diagonal k is reached.
    int64_t before(int64_t differences, int64_t k) {
        std::vector<int64_t>& row = rows_[static_cast<size_t>(differences - 1)];
        const bool goes_down =
            k == -differences || (k != differences && furthest(row, k - 1) < furthest(row, k + 1));
        return goes_down ? k + 1 : k - 1;
    }

    int64_t start_of(int64_t differences, int64_t k) {
        if (differences == 0) {
            return 0;
        }
        const int64_t from = before(differences, k);
        return furthest(rows_[static_cast<size_t>(differences - 1)], from) + (from < k ? 1 : 0);
    }

    bool reach_end(int64_t differences) {
        rows_.emplace_back(static_cast<size_t>(2 * differences + 3), -1);
        for (int64_t k = -differences; k <= differences; k += 2) {
            int64_t x = start_of(differences, k);
            while (x < base_count() && x - k < other_count() && x - k >= 0 &&
                   base_[begin_ + static_cast<size_t>(x)] ==
                       other_[begin_ + static_cast<size_t>(x - k)]) {
                ++x;
            }
            furthest(rows_.back(), k) = x;
            if (x >= base_count() && x - k >= other_count()) {
                return true;
            }
        }
        return false;
    }

    void trace_back(int64_t differences) {
        int64_t x = base_count();
        int64_t k = base_count() - other_count();
        for (int64_t left = differences; left >= 0; --left) {
            const int64_t start = start_of(left, k);
            for (; x > start; --x) {
                pairs_[begin_ + static_cast<size_t>(x - 1)] =
                    static_cast<uint32_t>(begin_ + static_cast<size_t>(x - 1 - k));
            }
            if (left > 0) {
                k = before(left, k);
                x = furthest(rows_[static_cast<size_t>(left - 1)], k);
            }
        }
    }

    const std::vector<uint32_t>& base_;
    const std::vector<uint32_t>& other_;
    size_t begin_ = 0;
    size_t tail_ = 0;
    std::vector<std::vector<int64_t>> rows_;  // by number of differences
    std::vector<uint32_t> pairs_;
};

}  // namespace

std::optional<std::vector<uint32_t>> align_runs(const std::vector<uint32_t>& base,
                                                const std::vector<uint32_t>& other,
                                                size_t most) {
    return Middle(base, other).align(most);
}

}  // namespace peakline::report
