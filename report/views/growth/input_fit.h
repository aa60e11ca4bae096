// Whether what a row holds at the ends of steps follows the sizes of what the steps were given, and
// what is left without that. Numbers only.
//
// Note [Growth with inputs]
// Gains from step to step are fitted by those of the inputs (elements, and elements squared: the
// scores of attention), by least squares, with and without growth that is the program's own: so
// much in every step, so much for every element of it, or both. Bytes that were asked for are
// exact, so a fit must leave hardly anything in any step.
// * Where growth of its own makes the fit three times better, it is there: what is left when the
//   inputs' part is taken away must pass the rule of Note [Growth] by itself.
// * Where the inputs alone fit, the row follows them; unless time alone fits as well, as it does
//   where inputs grow by the same in every step. Then nobody can say from numbers.
// Without a fit nothing is said of inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace peakline::report {

enum class InputPart {
    kAll,      // the row follows its inputs
    kUnclear,  // it does, and time alone would explain it, too
    kSome,     // beside growth of its own
};

struct InputFit {
    InputPart part{};
    // Of every sample: what the inputs explain, of the bytes that were asked for.
    std::vector<int64_t> explained;
};

// `inputs`: elements by sample; 0: not known, as of the first sample.
std::optional<InputFit> fit_inputs(const std::vector<int64_t>& levels,
                                   const std::vector<int64_t>& inputs);

}  // namespace peakline::report
