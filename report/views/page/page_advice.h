// What this run proves about a lower peak: sentences of the page's summary come from here, with the
// most that can be gained. What cannot be proved is not said.
#pragma once

#include <cstdint>
#include <optional>

#include "page.h"

namespace peakline::report {

enum class AdviceKind : uint8_t {
    kZeroGradEarlier,  // zero_grad() frees them only after the forward pass of the peak
    kZeroGradFrees,    // zero_grad() before the peak freed nothing: set_to_none=False
};

struct PageAdvice {
    AdviceKind kind = AdviceKind::kZeroGradEarlier;
    uint64_t gradient_bytes = 0;  // at the peak
    uint64_t at_most_bytes = 0;   // by which the peak can fall
};

// `slot`: of the device in the uses of an interval.
std::optional<PageAdvice> find_advice(const Page& page, const PagePeak& peak, uint32_t slot);

}  // namespace peakline::report
