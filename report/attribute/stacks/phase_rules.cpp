#include "phase_rules.h"

#include <iterator>
#include <string>
#include <vector>

#include <fnmatch.h>

namespace peakline::report {
namespace {

// When a rule holds: while the autograd engine runs a node, outside of it, or at both times.
// kCompiling: also, but only below a frame of the compiler. kOptimizing: outside of it, below a
// frame of an optimizer.
enum class When { kInAutograd, kOutsideAutograd, kAlways, kCompiling, kOptimizing };

struct FrameRule {
    const char* file;      // glob for the whole path; `*` matches `/` too
    const char* function;  // glob for the name; with a dot: for the name with its class
    When when;
    Phase phase;
};

// The innermost frame that matches a rule decides. Within the compiler only its own phases count:
// see inner_phase().
constexpr FrameRule kFrameRules[] = {
    // The engine runs again inside: its calls here are its backward pass, not the recomputation.
    {"*/torch/autograd/__init__.py", "*", When::kAlways, Phase::kBackward},
    {"*/torch/autograd/graph.py", "_engine_run_backward", When::kAlways, Phase::kBackward},
    {"*/torch/utils/checkpoint.py", "*", When::kInAutograd, Phase::kRecomputation},
    // AveragedModel copies the model before any step.
    {"*/torch/optim/swa_utils.py", "__init__", When::kOutsideAutograd, Phase::kInitialisation},
    // Includes allocations of a user's own optimizer: torch wraps every step in profile_hook_step,
    // a wrapper with a frame in optimizer.py.
    {"*/torch/optim/*.py", "*", When::kOutsideAutograd, Phase::kOptimizer},
    // The closure of optimizer.step(closure), as torch's documentation and Lightning name it.
    {"*", "closure", When::kOptimizing, Phase::kOther},
    {"*/torch/utils/data/*", "*", When::kOutsideAutograd, Phase::kData},
    {"*/torch/nn/init.py", "*", When::kOutsideAutograd, Phase::kInitialisation},
    {"*/torch/nn/modules/*.py", "__init__", When::kOutsideAutograd, Phase::kInitialisation},
    {"*/torch/nn/modules/module.py", "_apply", When::kOutsideAutograd, Phase::kInitialisation},
    {"*/torch/nn/modules/module.py", "*_call_impl", When::kOutsideAutograd, Phase::kForward},
    {"*/torch/nn/modules/module.py", "__call__", When::kOutsideAutograd, Phase::kForward},
    {"*/torch/_dynamo/convert_frame.py", "*", When::kAlways, Phase::kCompilation},
    // Its other functions run compiled code, with CUDA graphs.
    {"*/torch/_inductor/compile_fx.py", "*compile*", When::kAlways, Phase::kCompilation},
    // A kernel is tuned when it first runs, so the compiled function is on the stack.
    {"*/torch/_inductor/runtime/triton_heuristics.py", "bench*", When::kAlways, Phase::kAutotuning},
    {"*/torch/_inductor/runtime/triton_heuristics.py",
     "*autotune*",
     When::kAlways,
     Phase::kAutotuning},
    {"*/torch/_inductor/runtime/triton_heuristics.py",
     "*_tuning",
     When::kAlways,
     Phase::kAutotuning},
    {"*/torch/_inductor/autotune_process.py", "*", When::kAlways, Phase::kAutotuning},
    // Programs can call this one, too.
    {"*/torch/_inductor/runtime/benchmarking.py", "*", When::kCompiling, Phase::kAutotuning},
    {"*/torch/_inductor/select_algorithm.py", "*", When::kCompiling, Phase::kAutotuning},
    {"*/triton/runtime/autotuner.py", "_bench", When::kAlways, Phase::kAutotuning},
    {"*/torch/_inductor/cudagraph_trees.py",
     "CUDAWarmupNode.run",
     When::kAlways,
     Phase::kGraphWarmUp},
};

struct RegionRule {
    const char* file;
    const char* function;
    Region region;
};

// The innermost frame that matches a rule decides. Code of generate() before and after its loops is
// in no region.
constexpr RegionRule kRegionRules[] = {
    {"*/transformers/generation/utils.py", "_prefill", Region::kPrefill},
    {"*/transformers/generation/utils.py", "_sample", Region::kDecode},
    {"*/transformers/generation/utils.py", "_*beam_search", Region::kDecode},
    {"*/transformers/generation/utils.py", "_greedy_search", Region::kDecode},
    {"*/transformers/generation/utils.py", "_contrastive_search", Region::kDecode},
    {"*/transformers/generation/utils.py", "_dola_decoding", Region::kDecode},
    {"*/transformers/generation/utils.py", "_assisted_decoding", Region::kDecode},
};

struct ScopeRule {
    const char* name;  // glob
    Phase phase;
};

constexpr ScopeRule kScopeRules[] = {
    {"Optimizer.step#*", Phase::kOptimizer},
    {"Optimizer.zero_grad#*", Phase::kZeroGrad},
    {"enumerate(DataLoader)#*", Phase::kData},
    {"torch::autograd::Engine::execute", Phase::kBackward},
};

// torch.compile runs the forward pass of a graph with gradients within this function, for which
// autograd turns gradients off. Its memory is as that of a forward pass with gradients.
constexpr const char* kCompiledForwardFile = "*/torch/_functorch/*";
constexpr std::string_view kCompiledForward = "CompiledFunction.forward";

// A constructor of any class, used only when no rule decided: a stack does not show which classes
// are modules.
constexpr const char* kConstructor = "__init__";

// Phases of the frames of one trace. Each rule is tested once per file and name.
class FramePhases {
public:
    explicit FramePhases(const Definitions& definitions)
        : definitions_(definitions), files_(definitions.strings.count() + 1) {}

    // The phase of a frame, called in phase `outer`.
    Phase inner_phase(const PythonFrame& frame, When other, Phase outer) {
        const uint32_t files = rules_of_file(frame.file);
        for (size_t i = 0; files != 0 && i < std::size(kFrameRules); ++i) {
            const FrameRule& rule = kFrameRules[i];
            const bool fits = (files >> i & 1) != 0 && rule.when != other &&
                              (rule.when != When::kCompiling || is_compiling(outer)) &&
                              (rule.when != When::kOptimizing || outer == Phase::kOptimizer) &&
                              is_called(frame, rule.function);
            if (fits) {
                // Code that the compiler runs is part of its work.
                return is_before_steady(outer) && rule.phase < outer ? outer : rule.phase;
            }
        }
        return outer;
    }

    Region region_of(const PythonFrame& frame) const {
        // Most traces have no such file, so compare the name first.
        const std::string_view name = definitions_.text(frame.name);
        for (const RegionRule& rule : kRegionRules) {
            if (!name.empty() && name.front() == '_' &&
                fnmatch(rule.function, std::string(name).c_str(), 0) == 0 &&
                fnmatch(rule.file, std::string(definitions_.text(frame.file)).c_str(), 0) == 0) {
                return rule.region;
            }
        }
        return Region::kNone;
    }

    bool has_gradients(const PythonFrame& frame) const {
        return definitions_.text(frame.qualified_name).ends_with(kCompiledForward) &&
               fnmatch(kCompiledForwardFile, definitions_.strings[frame.file].c_str(), 0) == 0;
    }

    bool constructs(const PythonFrame& frame) const {
        return definitions_.text(frame.name) == kConstructor;
    }

private:
    bool is_called(const PythonFrame& frame, const char* function) const {
        const bool has_class = std::string_view(function).find('.') != std::string_view::npos;
        const std::string name(definitions_.text(has_class ? frame.qualified_name : frame.name));
        return fnmatch(function, name.c_str(), 0) == 0;
    }

    static constexpr uint32_t kSeen = uint32_t{1} << 31;

    uint32_t rules_of_file(uint32_t file) {
        if (file >= files_.size()) {
            return 0;
        }
        if (files_[file] == 0) {
            files_[file] = kSeen;
            for (size_t i = 0; i < std::size(kFrameRules); ++i) {
                const bool is_it =
                    fnmatch(kFrameRules[i].file, definitions_.strings[file].c_str(), 0) == 0;
                files_[file] |= is_it ? uint32_t{1} << i : 0;
            }
        }
        return files_[file] & ~kSeen;
    }

    const Definitions& definitions_;
    std::vector<uint32_t> files_;  // by string id: bits of the matching rules
};

struct NodePhase {
    Phase in_autograd = Phase::kNone;
    Phase outside = Phase::kNone;
    Region region = Region::kNone;
    bool constructs = false;
    bool has_gradients = false;  // although autograd turned them off
};

// The parent of a node has a smaller id, so one pass goes from the roots to the leaves.
std::vector<NodePhase> node_phases(const Definitions& definitions) {
    FramePhases frames(definitions);
    std::vector<NodePhase> nodes(definitions.python_nodes.count() + 1);
    for (uint32_t id = 1; id < nodes.size(); ++id) {
        const StackNode& node = definitions.python_nodes[id];
        const PythonFrame& frame = definitions.python_frames[node.frame];
        nodes[id] = node.parent < id ? nodes[node.parent] : NodePhase();
        nodes[id].in_autograd =
            frames.inner_phase(frame, When::kOutsideAutograd, nodes[id].in_autograd);
        nodes[id].outside = frames.inner_phase(frame, When::kInAutograd, nodes[id].outside);
        const Region region = frames.region_of(frame);
        nodes[id].region = region != Region::kNone ? region : nodes[id].region;
        nodes[id].constructs = nodes[id].constructs || frames.constructs(frame);
        nodes[id].has_gradients = nodes[id].has_gradients || frames.has_gradients(frame);
    }
    return nodes;
}

ContextPhase context_phase(const Definitions& definitions,
                           const std::vector<NodePhase>& nodes,
                           uint32_t id) {
    const Context& context = definitions.contexts[id];
    ContextPhase facts;
    facts.thread = context.thread;
    facts.in_autograd = context.forward_node != 0 || context.operator_name != 0;
    facts.without_gradients = (context.flags & format::kWithoutGradients) != 0;
    facts.operator_key = (context.python_node * 0x9E3779B1U) ^
                         (context.forward_node * 0x85EBCA77U) ^ context.operator_name;
    const bool knows_nothing = (context.flags & format::kStackUnrecorded) != 0 &&
                               context.python_node == 0 && context.native_node == 0 &&
                               context.operator_name == 0;
    if (definitions.is_untraced(id) || definitions.is_lost(id) || knows_nothing) {
        return facts;
    }
    const NodePhase node =
        context.python_node < nodes.size() ? nodes[context.python_node] : NodePhase();
    facts.region = node.region;
    facts.without_gradients = facts.without_gradients && !node.has_gradients;
    const Phase decided = facts.in_autograd ? node.in_autograd : node.outside;
    if (decided != Phase::kNone) {
        facts.phase = decided;
    } else if (facts.in_autograd) {
        facts.phase = Phase::kBackward;
    } else {
        facts.phase = node.constructs ? Phase::kInitialisation : Phase::kOther;
    }
    return facts;
}

}  // namespace

Phase scope_phase(std::string_view name) {
    const std::string text(name);
    for (const ScopeRule& rule : kScopeRules) {
        if (fnmatch(rule.name, text.c_str(), 0) == 0) {
            return rule.phase;
        }
    }
    return Phase::kNamed;
}

PhaseRules make_phase_rules(const Definitions& definitions) {
    PhaseRules rules;
    const std::vector<NodePhase> nodes = node_phases(definitions);
    rules.contexts.resize(definitions.contexts.count() + 1);
    for (uint32_t id = 1; id < rules.contexts.size(); ++id) {
        rules.contexts[id] = context_phase(definitions, nodes, id);
    }
    rules.scopes.resize(definitions.strings.count() + 1, Phase::kNamed);
    for (uint32_t id = 1; id < rules.scopes.size(); ++id) {
        rules.scopes[id] = scope_phase(definitions.text(id));
    }
    return rules;
}

}  // namespace peakline::report
