// Decides whether the bytes of a row at the ends of steps follow the sizes of the steps' inputs,
// and computes the rest. Numbers only.
//
// Note [Growth with inputs]
// Gains from step to step are fitted by the gains of the inputs (elements, and elements squared:
// the scores of attention), by least squares, with and without growth of the program's own: a
// constant per step, a constant per element, or both. Requested bytes are exact, so a fit must
// leave hardly any rest in any step.
// * If growth of its own makes the fit three times better, it exists: the rest after subtracting
//   the inputs' part must pass the rule of Note [Growth] alone.
// * If the inputs alone fit, the row follows them; unless time alone fits as well, as it does when
//   inputs grow by the same amount in every step. Then numbers alone cannot decide.
// Without a fit, reports do not mention inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace peakline::report {

enum class InputPart {
    kAll,      // the row follows its inputs
    kUnclear,  // it does, but time alone would explain it, too
    kSome,     // in addition to growth of its own
};

struct InputFit {
    InputPart part{};
    // By sample: the requested bytes that the inputs explain.
    std::vector<int64_t> explained;
};

// `inputs`: elements by sample; 0: unknown, as for the first sample.
std::optional<InputFit> fit_inputs(const std::vector<int64_t>& levels,
                                   const std::vector<int64_t>& inputs);

}  // namespace peakline::report
