// The torch operators running on this thread, outermost first: they show which operator reads a
// value. Plain thread-local data, used only by the owning thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::simulated {

struct OperatorInfo;

inline constexpr int64_t kUnknownResult = -1;

struct RunningOperator {
    const OperatorInfo* info = nullptr;
    int64_t element_count = 0;        // of the first tensor
    int64_t result = kUnknownResult;  // the value it will read from the device, if computed
    bool is_result_exact = false;     // else derived: Note [Values]
    bool is_reported = false;         // at its end the device gets the contents it writes
    int scalar_type = -1;             // at::ScalarType of the tensor that is read
    uint64_t first_block = 0;         // first block made since it began; only if reports_results
    bool reports_results = false;
    int64_t expert_count = 0;  // among which it chooses, if the choice is assumed (routing.h)
    bool is_check = false;     // of values, which is assumed to pass (checks.h)
    bool chooses = false;      // several of many unknown scores (distinct_choices.h)
};

inline constexpr int kMaxRunning = 64;

struct RunningOperators {
    RunningOperator items[kMaxRunning];
    int depth = 0;  // may exceed kMaxRunning; the innermost operators are then not kept
    // Last values passed to the device.
    bool launches_are_reported = false;
    bool reads_are_guessed = false;
    // A running operator reports its results to the recorder.
    bool results_are_reported = false;

    RunningOperator* top() {
        return depth > 0 && depth <= kMaxRunning ? &items[depth - 1] : nullptr;
    }
    int kept() const { return depth < kMaxRunning ? depth : kMaxRunning; }
};

RunningOperators& running_operators();

// Called by the device, which filled `host` with values that do not exist.
void on_guessed_read(void* host, size_t bytes);

}  // namespace peakline::simulated
