// --by phase: what the program was doing, from the python stack and the autograd engine only. The
// rules are one table; README.md says them in words.
#include <fnmatch.h>

#include "grouping.h"

namespace peakline::report {
namespace {

constexpr const char* kForward = "forward";
constexpr const char* kBackward = "backward";
constexpr const char* kRecomputation = "recomputation";
constexpr const char* kOptimizer = "optimizer";
constexpr const char* kData = "data";
constexpr const char* kInitialisation = "initialisation";
constexpr const char* kOther = "other";

// When a rule holds: while the autograd engine runs a node, outside of it, or at both times.
enum class When { kInAutograd, kOutsideAutograd, kAlways };

struct PhaseRule {
    const char* file;      // glob for the whole path; `*` matches `/` too
    const char* function;  // glob for the name
    When when;
    const char* phase;
};

// The innermost frame that meets a rule decides.
constexpr PhaseRule kRules[] = {
    // The engine runs on: what it calls in here is its backward pass, not the recomputation.
    {"*/torch/autograd/__init__.py", "*", When::kAlways, kBackward},
    {"*/torch/autograd/graph.py", "_engine_run_backward", When::kAlways, kBackward},
    {"*/torch/utils/checkpoint.py", "*", When::kInAutograd, kRecomputation},
    // Also what a user's own optimizer allocates: torch wraps every step in profile_hook_step,
    // whose wrapper is a frame of optimizer.py.
    {"*/torch/optim/*.py", "*", When::kOutsideAutograd, kOptimizer},
    {"*/torch/utils/data/*", "*", When::kOutsideAutograd, kData},
    {"*/torch/nn/init.py", "*", When::kOutsideAutograd, kInitialisation},
    {"*/torch/nn/modules/*.py", "__init__", When::kOutsideAutograd, kInitialisation},
    {"*/torch/nn/modules/module.py", "_apply", When::kOutsideAutograd, kInitialisation},
    {"*/torch/nn/modules/module.py", "*_call_impl", When::kOutsideAutograd, kForward},
    {"*/torch/nn/modules/module.py", "__call__", When::kOutsideAutograd, kForward},
};

// A constructor of whatever class, met only when no rule decided: a stack does not tell which
// classes are modules.
constexpr const char* kConstructor = "__init__";

bool meets(const PhaseRule& rule, const Location& location, bool in_autograd) {
    const When other = in_autograd ? When::kOutsideAutograd : When::kInAutograd;
    return rule.when != other && fnmatch(rule.function, location.function.c_str(), 0) == 0 &&
           fnmatch(rule.file, location.file.c_str(), 0) == 0;
}

const char* phase_of_frame(const Location& location, bool in_autograd) {
    for (const PhaseRule& rule : kRules) {
        if (meets(rule, location, in_autograd)) {
            return rule.phase;
        }
    }
    return nullptr;
}

const char* phase_of(const Definitions& definitions, const Context& context) {
    const bool in_autograd = context.forward_node != 0 || context.operator_name != 0;
    bool constructs = false;
    for (uint32_t node = context.python_node; node != 0;
         node = definitions.python_nodes[node].parent) {
        const Location location = location_of(definitions, definitions.python_nodes[node].frame);
        const char* phase = phase_of_frame(location, in_autograd);
        if (phase != nullptr) {
            return phase;
        }
        constructs = constructs || location.function == kConstructor;
    }
    if (in_autograd) {
        return kBackward;
    }
    return constructs ? kInitialisation : kOther;
}

}  // namespace

Placement place_by_phase(StackLookup& stacks, const BlockGroup& block) {
    if (is_untraced(stacks, block)) {
        return named_placement(kUntracedName);
    }
    const Definitions& definitions = stacks.definitions();
    if (is_unrecorded(stacks, block)) {
        return named_placement(kUnrecordedName);
    }
    if (definitions.is_lost(block.context)) {
        return named_placement(kLostName);
    }
    return named_placement(phase_of(definitions, definitions.contexts[block.context]));
}

}  // namespace peakline::report
