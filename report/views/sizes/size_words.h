// Sizes as callers write them, and the sentence for sizes that cannot be told apart.
#pragma once

#include <string>
#include <vector>

#include "block_growth.h"
#include "sizes_text.h"

namespace peakline::report {

struct NamedSize {
    StepSize size;
    std::string path;
};

struct AskedSize {
    StepSize size;
    uint64_t new_tokens = 0;  // of generate(); 0: a training, or the recorded number
};

// "8 512 PATH"; "64 8192" or "64 8192 256". 0: not named. Throw TraceError.
NamedSize recorded_size_of(const std::string& text);
AskedSize asked_size_of(const std::string& text);

// Why recordings of these sizes cannot predict another one, and the size to record: blocks grow
// with `one` or with `other`.
std::string reason_of_doubt(const std::vector<StepSize>& recorded, Growth one, Growth other);

}  // namespace peakline::report
