#include "block_growth.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>

namespace peakline::report {
namespace {

__extension__ using Wide = __int128;

struct Powers {
    Growth growth;
    unsigned batch;
    unsigned length;
};
// The plainest first: where several fit, it gives the figure.
constexpr Powers kPowers[] = {{Growth::kConstant, 0, 0},
                              {Growth::kBatchLength, 1, 1},
                              {Growth::kBatch, 1, 0},
                              {Growth::kLength, 0, 1},
                              {Growth::kBatchLengthSquared, 1, 2},
                              {Growth::kLengthSquared, 0, 2},
                              {Growth::kBatchSquared, 2, 0}};
// Kernels of attention pad lengths to these.
constexpr uint64_t kMultiples[] = {8, 16, 32, 64, 128, 256};

struct Form {
    Powers powers;
    int64_t shift = 0;
    uint64_t multiple = 1;

    // The product of the powers. The shift is added to one length only: the mask of a static cache
    // has a row for each token of the prompt, and a column for each one of the cache.
    uint64_t of(const StepSize& size) const {
        const auto shifted =
            static_cast<uint64_t>(std::max<int64_t>(0, static_cast<int64_t>(size.length) + shift));
        uint64_t product = 1;
        for (unsigned i = 0; i < powers.batch; ++i) {
            product *= size.batch;
        }
        for (unsigned i = 0; i < powers.length; ++i) {
            product *= padded(i == 0 ? shifted : size.length);
        }
        return product;
    }

    uint64_t padded(uint64_t length) const { return (length + multiple - 1) / multiple * multiple; }
};

int64_t capped(Wide bytes) {
    return static_cast<int64_t>(std::min<Wide>(bytes, Wide{1} << 60));
}

// The bytes at `target` when they are in proportion to the form; rounded up.
int64_t scaled(uint64_t bytes, uint64_t from, uint64_t target) {
    return capped((Wide{bytes} * target + from - 1) / from);
}

class Fit {
public:
    Fit(const std::vector<StepSize>& recorded,
        const std::vector<StepSize>& targets,
        const std::vector<uint64_t>& bytes)
        : targets_(targets) {
        for (size_t i = 0; i < bytes.size(); ++i) {
            if (bytes[i] != kNoBytes) {
                sizes_.push_back(recorded[i]);
                bytes_.push_back(bytes[i]);
            }
        }
        result_.at.resize(targets.size());
    }

    BlockGrowth run() {
        if (bytes_.size() < 2) {
            fit_nothing();
            return result_;
        }
        for (const Powers& powers : kPowers) {
            try_form({powers}, Coefficient::kWholeOrHalved);
        }
        if (!is_found_) {
            try_padded();
        }
        for (size_t i = 0; !is_found_ && i < std::size(kPowers); ++i) {
            try_form({kPowers[i]}, Coefficient::kAny);
        }
        const bool is_found_plainly = is_found_;
        if (!is_found_) {
            try_shifted_squares();
        }
        if (!is_found_plainly) {
            try_two_terms();
        }
        if (!is_found_) {
            fit_nothing();
        }
        return result_;
    }

private:
    // Strides and patches halve a side of an image, mostly; a padded length gives other fractions.
    enum class Coefficient : unsigned char { kWholeOrHalved, kAny };

    void try_form(const Form& form, Coefficient allowed) {
        const uint64_t first = form.of(sizes_[0]);
        if (first == 0) {
            return;
        }
        const bool is_halved = std::has_single_bit(first / std::gcd(first, bytes_[0]));
        if (allowed == Coefficient::kWholeOrHalved && !is_halved) {
            return;
        }
        for (size_t i = 1; i < sizes_.size(); ++i) {
            if (Wide{bytes_[i]} * first != Wide{bytes_[0]} * form.of(sizes_[i])) {
                return;
            }
        }
        std::vector<int64_t> grown;
        for (const StepSize& target : targets_) {
            grown.push_back(scaled(bytes_[0], first, form.of(target)));
        }
        add(form.powers.growth, grown, form.shift);
    }

    void try_padded() {
        for (const Powers& powers : kPowers) {
            if (powers.length == 0) {
                continue;
            }
            for (const uint64_t multiple : kMultiples) {
                try_form({powers, 0, multiple}, Coefficient::kWholeOrHalved);
            }
            if (powers.length == 1) {
                try_shifted(powers);
            }
        }
    }

    void try_shifted_squares() {
        for (const Powers& powers : kPowers) {
            if (powers.length == 2) {
                try_shifted(powers);
            }
        }
    }

    void try_shifted(const Powers& powers) {
        if (const auto shift = shift_of(powers)) {
            try_form({powers, *shift, 1}, Coefficient::kWholeOrHalved);
        }
    }

    // The number that is added to the length, by the first and the last recording: a whole
    // number of positions, with a whole number of bytes each.
    std::optional<int64_t> shift_of(const Powers& powers) const {
        const size_t last = sizes_.size() - 1;
        const Form samples{{powers.growth, powers.batch, powers.length - 1}};
        const uint64_t first_count = samples.of(sizes_[0]);
        const uint64_t last_count = samples.of(sizes_[last]);
        const auto rise =
            static_cast<int64_t>(sizes_[last].length) - static_cast<int64_t>(sizes_[0].length);
        if (rise == 0 || bytes_[0] % first_count != 0 || bytes_[last] % last_count != 0) {
            return std::nullopt;
        }
        const auto from = static_cast<int64_t>(bytes_[0] / first_count);
        const int64_t more = static_cast<int64_t>(bytes_[last] / last_count) - from;
        const int64_t slope = more / rise;
        if (more % rise != 0 || slope <= 0 || from % slope != 0) {
            return std::nullopt;
        }
        const int64_t shift = from / slope - static_cast<int64_t>(sizes_[0].length);
        return shift >= -kMostShift && shift <= kMostShift ? std::optional(shift) : std::nullopt;
    }

    void try_two_terms() {
        for (const Powers& one : kPowers) {
            for (const Powers& other : kPowers) {
                if (&one < &other) {
                    try_pair({one}, {other});
                }
            }
        }
    }

    void try_pair(const Form& one, const Form& other) {
        using Real = long double;
        const size_t last = sizes_.size() - 1;
        const auto at = [this](const Form& form, size_t i) -> Real {
            return static_cast<Real>(form.of(sizes_[i]));
        };
        const Real determinant = at(one, 0) * at(other, last) - at(other, 0) * at(one, last);
        if (determinant == 0) {
            return;
        }
        const Real first = static_cast<Real>(bytes_[0]);
        const Real second = static_cast<Real>(bytes_[last]);
        const Real a = (first * at(other, last) - second * at(other, 0)) / determinant;
        const Real b = (at(one, 0) * second - at(one, last) * first) / determinant;
        if (a < 0 || b < 0) {
            return;
        }
        for (size_t i = 1; i < last; ++i) {
            if (std::fabs(a * at(one, i) + b * at(other, i) - static_cast<Real>(bytes_[i])) > 0.5) {
                return;
            }
        }
        std::vector<int64_t> grown;
        for (const StepSize& target : targets_) {
            const Real bytes =
                a * static_cast<Real>(one.of(target)) + b * static_cast<Real>(other.of(target));
            grown.push_back(static_cast<int64_t>(std::min<Real>(bytes + 0.5, 1e18)));
        }
        add(Growth::kTwoTerms, grown);
    }

    // As little as in a recording or nothing, as much as the quickest formula gives.
    void fit_nothing() {
        result_.growth = result_.other = Growth::kUnknown;
        const Form tokens{{Growth::kBatchLength, 1, 1}};
        const Form squares{{Growth::kBatchLengthSquared, 1, 2}};
        size_t most = 0;
        for (size_t i = 1; i < bytes_.size(); ++i) {
            most = bytes_[i] > bytes_[most] ? i : most;
        }
        for (size_t i = 0; i < targets_.size(); ++i) {
            const auto by = [&](const Form& form) {
                return scaled(bytes_[most], form.of(sizes_[most]), form.of(targets_[i]));
            };
            const bool is_recorded =
                std::find(sizes_.begin(), sizes_.end(), targets_[i]) != sizes_.end();
            const int64_t bytes =
                bytes_.size() > 1 && !is_recorded ? static_cast<int64_t>(bytes_[most]) : by(tokens);
            result_.at[i] = {0, bytes, std::max({bytes, by(tokens), by(squares)})};
            take_recorded(i);
        }
    }

    // A size that was recorded has its own bytes.
    void take_recorded(size_t target) {
        for (size_t i = 0; i < sizes_.size(); ++i) {
            if (sizes_[i] == targets_[target]) {
                const auto bytes = static_cast<int64_t>(bytes_[i]);
                result_.at[target] = {bytes, bytes, bytes};
            }
        }
    }

    void add(Growth growth, const std::vector<int64_t>& grown, int64_t shift = 0) {
        if (!is_found_) {
            result_.growth = result_.other = growth;
            result_.shift = shift;
        }
        for (size_t i = 0; i < grown.size(); ++i) {
            GrownBytes& at = result_.at[i];
            if (!is_found_) {
                at = {grown[i], grown[i], grown[i]};
            } else if (grown[i] != at.bytes && result_.other == result_.growth) {
                result_.other = growth;
            }
            at.low = std::min(at.low, grown[i]);
            at.high = std::max(at.high, grown[i]);
        }
        is_found_ = true;
    }

    const std::vector<StepSize>& targets_;
    std::vector<StepSize> sizes_;  // of the recordings that have the block
    std::vector<uint64_t> bytes_;
    BlockGrowth result_;
    bool is_found_ = false;
};

}  // namespace

const char* growth_name(Growth growth) {
    switch (growth) {
        case Growth::kBatchLength:
            return "batch x length";
        case Growth::kBatch:
            return "batch";
        case Growth::kLength:
            return "length";
        case Growth::kBatchLengthSquared:
            return "batch x length^2";
        case Growth::kLengthSquared:
            return "length^2";
        case Growth::kBatchSquared:
            return "batch^2";
        case Growth::kConstant:
            return "nothing";
        case Growth::kTwoTerms:
            return "two terms";
        case Growth::kUnknown:
            break;
    }
    return "unknown";
}

const BlockGrowth& GrowthFitter::of(const std::vector<uint64_t>& bytes) {
    const auto [at, is_new] = known_.try_emplace(bytes);
    if (is_new) {
        at->second = fit(bytes);
    }
    return at->second;
}

BlockGrowth GrowthFitter::fit(const std::vector<uint64_t>& bytes) const {
    return Fit(recorded_, targets_, bytes).run();
}

}  // namespace peakline::report
