// The torch operators that run on this thread, outermost first: who asks when a value is read.
// Plain thread-local data; only the owning thread touches it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::simulated {

struct OperatorInfo;

inline constexpr int64_t kUnknownResult = -1;

struct RunningOperator {
    const OperatorInfo* info = nullptr;
    int64_t element_count = 0;              // of the first tensor
    int64_t exact_result = kUnknownResult;  // what it will read from the device, when known
    bool is_reported = false;               // the device learns what it writes when it ends
    int scalar_type = -1;                   // at::ScalarType of the tensor that is read
    uint64_t first_block = 0;  // of those made since it began; only where reports_results
    bool reports_results = false;
};

inline constexpr int kMaxRunning = 64;

struct RunningOperators {
    RunningOperator items[kMaxRunning];
    int depth = 0;  // may be larger than kMaxRunning: the innermost are then not kept
    // What was reported to the device last.
    bool launches_are_reported = false;
    bool reads_are_guessed = false;
    // One of those that run reports its results to the recorder.
    bool results_are_reported = false;

    RunningOperator* top() {
        return depth > 0 && depth <= kMaxRunning ? &items[depth - 1] : nullptr;
    }
    int kept() const { return depth < kMaxRunning ? depth : kMaxRunning; }
};

RunningOperators& running_operators();

// Told by the device: `host` was filled with values that do not exist.
void on_guessed_read(void* host, size_t bytes);

}  // namespace peakline::simulated
