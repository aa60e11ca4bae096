// The phases of a program, and the facts about contexts and scopes that replay needs, so that it
// need not know stacks. Plain data; report/attribute fills it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace peakline::report {

enum class Phase : uint8_t {
    kNone,  // untraced, unrecorded or lost
    kOther,
    kForward,
    kBackward,
    kRecomputation,
    kOptimizer,
    kZeroGrad,
    kData,
    kInitialisation,
    // Phases of torch.compile, in the order in which one can lie within another.
    kGraphWarmUp,  // the run of a compiled function before its CUDA graph is recorded
    kCompilation,
    kAutotuning,
    kNamed,  // a region the program named: peakline.phase(), record_function()
};

inline constexpr const char* kPhaseNames[] = {"unknown",
                                              "other",
                                              "forward",
                                              "backward",
                                              "recomputation",
                                              "optimizer",
                                              "zero_grad",
                                              "data",
                                              "initialisation",
                                              "CUDA graph warm-up",
                                              "compilation",
                                              "autotuning",
                                              "named"};

inline const char* phase_name(Phase phase) {
    return kPhaseNames[static_cast<size_t>(phase)];
}

// Memory of the compiler, not of the program's values. A warm-up makes the program's values.
inline bool is_compiling(Phase phase) {
    return phase == Phase::kCompilation || phase == Phase::kAutotuning;
}

// Whether later runs of the same compiled code do not need such memory. These phases lie within
// others and do not end them.
inline bool is_before_steady(Phase phase) {
    return is_compiling(phase) || phase == Phase::kGraphWarmUp;
}

// Parts of a run that span phases and that stacks show. Reports list them with the regions that the
// program names.
enum class Region : uint8_t { kNone, kPrefill, kDecode };

inline constexpr const char* kRegionNames[] = {"", "prefill", "decode"};

// The facts from the stack of a context.
struct ContextPhase {
    Phase phase = Phase::kNone;
    Region region = Region::kNone;
    bool in_autograd = false;        // made while the autograd engine ran a node
    bool without_gradients = false;  // see format::kWithoutGradients
    uint32_t thread = 0;             // id in the definitions
    uint32_t operator_key = 0;       // equal for the allocations of one operator call, python side
};

// A position in the stream of events.
struct EventTime {
    uint64_t event = 0;
    uint64_t tick = 0;
};

// A range of events, counted from 0.
struct EventRange {
    uint64_t begin = 0;
    uint64_t end = 0;  // the first event after it
};

struct PhaseRules {
    std::vector<ContextPhase> contexts;  // by context id
    std::vector<Phase> scopes;           // by string id: the phase of a scope with this name
};

}  // namespace peakline::report
