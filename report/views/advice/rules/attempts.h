// The changes that `advise --try` knows, by the names that rules give in Advice::attempt. Python
// applies them (_peakline_changes.py); a test compares the two lists.
#pragma once

namespace peakline::report::attempts {

inline constexpr const char* kCheckpoint = "checkpoint";  // followed by = and the modules
inline constexpr const char* kFused = "fused";
inline constexpr const char* kNoAutocastCache = "no-autocast-cache";
inline constexpr const char* kNoForeach = "no-foreach";
inline constexpr const char* kNoGradInEval = "no-grad-in-eval";
inline constexpr const char* kSdpaWithoutMath = "sdpa-without-math";
inline constexpr const char* kSetToNone = "set-to-none";
inline constexpr const char* kZeroGradEarly = "zero-grad-early";

}  // namespace peakline::report::attempts
