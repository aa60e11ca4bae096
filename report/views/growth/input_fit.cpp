#include "input_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace peakline::report {
namespace {

using Column = std::vector<double>;

constexpr size_t kLeastGains = 8;
constexpr double kExactBytes = 1024;
constexpr double kExactPart = 0.01;  // of the largest gain
constexpr double kBetter = 3;
constexpr double kLeastOwnBytes = 64;  // smaller values are rounding errors of the sum

struct Fitted {
    std::vector<double> factors;  // factors of its columns
    double worst = HUGE_VAL;      // the largest gain it does not explain
};

// Gaussian elimination of the normal equations; false: two columns are dependent.
bool solve(std::vector<Column> rows, std::vector<double>* result) {
    constexpr double kLeastPivot = 1e-9;  // columns have length 1
    const size_t count = rows.size();
    for (size_t at = 0; at < count; ++at) {
        for (size_t row = at + 1; row < count; ++row) {
            if (std::abs(rows[row][at]) > std::abs(rows[at][at])) {
                std::swap(rows[row], rows[at]);
            }
        }
        if (std::abs(rows[at][at]) < kLeastPivot) {
            return false;
        }
        for (size_t row = 0; row < count; ++row) {
            const double factor = row == at ? 0 : rows[row][at] / rows[at][at];
            for (size_t i = at; i <= count; ++i) {
                rows[row][i] -= factor * rows[at][i];
            }
        }
    }
    for (size_t at = 0; at < count; ++at) {
        result->push_back(rows[at][count] / rows[at][at]);
    }
    return true;
}

double dot(const Column& a, const Column& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

Fitted fit(const std::vector<const Column*>& columns, const Column& target) {
    std::vector<double> lengths;
    for (const Column* column : columns) {
        lengths.push_back(std::sqrt(dot(*column, *column)));
    }
    std::vector<Column> rows;
    for (size_t i = 0; i < columns.size(); ++i) {
        if (lengths[i] == 0) {
            return {};
        }
        Column& row = rows.emplace_back();
        for (size_t j = 0; j < columns.size(); ++j) {
            row.push_back(dot(*columns[i], *columns[j]) / lengths[i] / lengths[j]);
        }
        row.push_back(dot(*columns[i], target) / lengths[i]);
    }
    Fitted found;
    if (!solve(rows, &found.factors)) {
        return {};
    }
    found.worst = 0;
    for (size_t i = 0; i < columns.size(); ++i) {
        found.factors[i] /= lengths[i];
    }
    for (size_t i = 0; i < target.size(); ++i) {
        double left = target[i];
        for (size_t j = 0; j < columns.size(); ++j) {
            left -= found.factors[j] * (*columns[j])[i];
        }
        found.worst = std::max(found.worst, std::abs(left));
    }
    return found;
}

// Gains of a row and of its inputs, and the columns that may explain them.
class Gains {
public:
    Gains(const std::vector<int64_t>& levels, const std::vector<int64_t>& inputs, size_t begin) {
        for (size_t i = begin + 1; i < levels.size(); ++i) {
            const auto now = static_cast<double>(inputs[i]);
            const auto before = static_cast<double>(inputs[i - 1]);
            row_.push_back(static_cast<double>(levels[i] - levels[i - 1]));
            each_step_.push_back(1);
            each_element_.push_back(now);
            inputs_.push_back(now - before);
            squares_.push_back(now * now - before * before);
            most_ = std::max(most_, std::abs(row_.back()));
        }
    }

    double exact() const { return kExactBytes + kExactPart * most_; }

    // The columns of inputs come first.
    Fitted with_inputs_alone(bool has_squares) const { return with(has_squares, {}); }
    Fitted with_own_growth(bool has_squares) const {
        const Fitted by_step = with(has_squares, {&each_step_});
        const Fitted by_element = with(has_squares, {&each_element_});
        const Fitted both = with(has_squares, {&each_step_, &each_element_});
        const Fitted& one = by_element.worst < by_step.worst ? by_element : by_step;
        return both.worst * kBetter < one.worst ? both : one;
    }
    double worst_of_time() const {
        return std::min({fit({&each_step_}, row_).worst,
                         fit({&each_element_}, row_).worst,
                         fit({&each_step_, &each_element_}, row_).worst});
    }

private:
    Fitted with(bool has_squares, std::vector<const Column*> own) const {
        std::vector<const Column*> columns = {&inputs_};
        if (has_squares) {
            columns.push_back(&squares_);
        }
        columns.insert(columns.end(), own.begin(), own.end());
        return fit(columns, row_);
    }

    Column row_;
    Column each_step_;
    Column each_element_;
    Column inputs_;
    Column squares_;
    double most_ = 0;
};

std::vector<int64_t> explained_by(const std::vector<int64_t>& inputs,
                                  const Fitted& found,
                                  bool has_squares) {
    std::vector<int64_t> bytes;
    for (const int64_t elements : inputs) {
        const auto size = static_cast<double>(elements);
        const double sum =
            found.factors[0] * size + (has_squares ? found.factors[1] * size * size : 0);
        bytes.push_back(std::llround(std::clamp(sum, -0x1p60, 0x1p60)));
    }
    return bytes;
}

// Earlier samples have no inputs, or belong to warm-up.
size_t begin_of(const std::vector<int64_t>& inputs) {
    size_t begin = inputs.size();
    while (begin > 0 && inputs[begin - 1] > 0) {
        --begin;
    }
    return begin + (inputs.size() - begin) / 8;
}

}  // namespace

std::optional<InputFit> fit_inputs(const std::vector<int64_t>& levels,
                                   const std::vector<int64_t>& inputs) {
    const size_t begin = begin_of(inputs);
    if (inputs.size() != levels.size() || begin + kLeastGains >= levels.size()) {
        return std::nullopt;
    }
    const Gains gains(levels, inputs, begin);
    const auto simplest = [&gains](auto fit_with) {
        const std::pair<Fitted, bool> plain = {fit_with(false), false};
        const std::pair<Fitted, bool> squared = {fit_with(true), true};
        const double least = std::max(squared.first.worst, kLeastOwnBytes) * kBetter;
        return plain.first.worst <= std::min(least, gains.exact()) ? plain : squared;
    };
    const auto [alone, alone_squared] =
        simplest([&gains](bool squares) { return gains.with_inputs_alone(squares); });
    const auto [own, own_squared] =
        simplest([&gains](bool squares) { return gains.with_own_growth(squares); });
    const bool own_is_better = std::max(own.worst, kLeastOwnBytes) * kBetter < alone.worst;
    if (own.worst <= gains.exact() && own_is_better) {
        return InputFit{InputPart::kSome, explained_by(inputs, own, own_squared)};
    }
    if (alone.worst > gains.exact()) {
        return std::nullopt;
    }
    const bool is_unclear = gains.worst_of_time() <= std::max(kExactBytes, 2 * alone.worst);
    return InputFit{is_unclear ? InputPart::kUnclear : InputPart::kAll,
                    explained_by(inputs, alone, alone_squared)};
}

}  // namespace peakline::report
