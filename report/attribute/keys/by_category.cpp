// --by category: the purpose of a block. The reports of the program's objects decide; otherwise the
// stack and the life of the block, never its size. RULES.md explains the rules.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "categories.h"
#include "report/attribute/grouping.h"
#include "report/attribute/operators/operator_search.h"
#include "stack_category.h"

namespace peakline::report {
namespace {

Category reported_category(format::TensorKind kind) {
    switch (kind) {
        case format::TensorKind::kParameter:
            return Category::kParameter;
        case format::TensorKind::kBuffer:
            return Category::kBuffer;
        case format::TensorKind::kGradient:
            return Category::kGradient;
        case format::TensorKind::kOptimizerState:
            return Category::kOptimizerState;
    }
    return Category::kUnknown;
}

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

Category stack_category(const BlockGroup& block, FacetHelp& help) {
    const Definitions& definitions = help.stacks.definitions();
    const Context& context = definitions.contexts[block.context];
    if (is_distributed(definitions, context.python_node)) {
        return Category::kCommunication;
    }
    const auto [known, is_new] = help.native_kinds.try_emplace(context.native_node, 0);
    if (is_new) {
        known->second = static_cast<uint32_t>(native_category(help.stacks, context.native_node));
    }
    return static_cast<Category>(known->second);
}

// Returns "aten::cat" for a context; empty: no operator.
const std::string& operator_of_context(uint32_t context, FacetHelp& help) {
    const auto [known, is_new] = help.operators.try_emplace(context);
    if (is_new) {
        known->second = operator_of(help.stacks, context);
    }
    return known->second;
}

uint64_t function_key(const PythonFrame& frame) {
    return uint64_t{frame.file} << 32U | frame.qualified_name;
}

// The innermost `wanted` frames outside of torch.
std::vector<const PythonFrame*> own_frames(const Definitions& definitions,
                                           uint32_t python_node,
                                           size_t wanted) {
    std::vector<const PythonFrame*> frames;
    for (uint32_t node = python_node; node != 0 && frames.size() < wanted;
         node = definitions.python_nodes[node].parent) {
        const PythonFrame& frame = definitions.python_frames[definitions.python_nodes[node].frame];
        if (!has(definitions.text(frame.file), "/torch/")) {
            frames.push_back(&frame);
        }
    }
    return frames;
}

bool attends(std::string_view op) {
    return has(op, "attention") || op.starts_with("aten::_softmax") ||
           op.starts_with("aten::softmax");
}

// Whether the function that allocates the block, or its caller, calls attention, too.
bool is_beside_attention(const Definitions& definitions, uint32_t python_node, FacetHelp& help) {
    if (!help.attention_functions.has_value()) {
        std::set<uint64_t>& functions = help.attention_functions.emplace();
        for (uint32_t id = 1; id <= definitions.contexts.count(); ++id) {
            if (!attends(operator_of_context(id, help))) {
                continue;
            }
            for (const PythonFrame* frame :
                 own_frames(definitions, definitions.contexts[id].python_node, 2)) {
                functions.insert(function_key(*frame));
            }
        }
    }
    const std::vector<const PythonFrame*> frames = own_frames(definitions, python_node, 2);
    return std::any_of(frames.begin(), frames.end(), [&](const PythonFrame* frame) {
        return help.attention_functions->count(function_key(*frame)) != 0;
    });
}

// Whether the code belongs to transformers' cache objects.
bool is_of_cache_object(const Definitions& definitions, uint32_t python_node) {
    const std::vector<const PythonFrame*> frames = own_frames(definitions, python_node, 1);
    return !frames.empty() &&
           has(definitions.text(frames[0]->file), "/transformers/cache_utils.py");
}

// Keys and values that a step of inference leaves for later steps: made by a cache object, or
// joined beside attention.
bool is_cache(const TrackedBlock& block, const BlockHistory& history, FacetHelp& help) {
    if (history.is_trained || history.has_graph || history.made_in != Phase::kForward ||
        !history.made_step.has_value()) {
        return false;
    }
    const bool is_left = history.steps_outlived > 0 &&
                         (history.steps_outlived > 1 || !history.is_freed ||
                          (history.freed_in == Phase::kForward && !history.after_work));
    // Memory that a pass makes for itself is freed before its last allocation.
    if (!is_left && history.is_freed && history.within_phase && !history.after_work) {
        return false;
    }
    const Definitions& definitions = help.stacks.definitions();
    const uint32_t python_node = definitions.contexts[block.block.context].python_node;
    if (is_of_cache_object(definitions, python_node)) {
        return true;
    }
    return operator_of_context(block.block.context, help).starts_with("aten::cat") &&
           is_beside_attention(definitions, python_node, help);
}

Category forward_category(const TrackedBlock& block, const BlockHistory& history, FacetHelp& help) {
    if (is_cache(block, history, help)) {
        return Category::kCache;
    }
    const bool is_short = history.within_operator || (history.within_phase && history.is_freed);
    if (is_short && !history.outlived_cut_pass) {
        return Category::kTemporary;
    }
    if (history.has_graph) {
        return Category::kActivation;
    }
    return history.is_freed && history.steps_outlived <= 1 ? Category::kTemporary : Category::kKept;
}

// Whether the operator's values come from outside of the device, or from no other tensor. An
// unknown operator may be one of these.
bool brings_in(std::string_view op) {
    constexpr std::array<std::string_view, 14> kSources = {"_to_copy",
                                                           "to",
                                                           "copy_",
                                                           "empty",
                                                           "zeros",
                                                           "ones",
                                                           "full",
                                                           "rand",
                                                           "randn",
                                                           "randint",
                                                           "randperm",
                                                           "arange",
                                                           "tensor",
                                                           "pin_memory"};
    if (op.empty() || !op.starts_with("aten::")) {
        return true;
    }
    op.remove_prefix(std::string_view("aten::").size());
    op = op.substr(0, op.find('.'));
    constexpr std::string_view kLike = "_like";
    if (op.size() > kLike.size() && op.substr(op.size() - kLike.size()) == kLike) {
        op.remove_suffix(kLike.size());
    }
    return has(op, "empty") || std::find(kSources.begin(), kSources.end(), op) != kSources.end();
}

// Made outside of the model, in a step: the step's input, or values computed from it. An input
// lives until the next one exists.
Category other_category(const TrackedBlock& block, const BlockHistory& history, FacetHelp& help) {
    if (!history.made_step.has_value()) {
        return Category::kUnknown;
    }
    const bool is_input = brings_in(operator_of_context(block.block.context, help));
    const uint32_t most_steps = history.is_freed ? 1 : 0;
    if (history.steps_outlived > most_steps || (!is_input && !history.is_freed)) {
        return Category::kKept;
    }
    return is_input ? Category::kInput : Category::kTemporary;
}

Category life_category(const TrackedBlock& block, const BlockHistory& history, FacetHelp& help) {
    const bool is_short = history.within_operator || history.within_phase;
    switch (history.made_in) {
        case Phase::kForward:
            return forward_category(block, history, help);
        case Phase::kRecomputation:
            return history.within_operator ? Category::kTemporary : Category::kActivation;
        case Phase::kBackward:
            return is_short ? Category::kTemporary : Category::kGradient;
        case Phase::kOptimizer:
        case Phase::kZeroGrad:
            return is_short ? Category::kTemporary : Category::kOptimizerState;
        case Phase::kInitialisation:
            return is_short ? Category::kTemporary : Category::kParameter;
        case Phase::kData:
            return Category::kInput;
        case Phase::kOther:
            return other_category(block, history, help);
        case Phase::kGraphWarmUp:
            return Category::kGraphWarmUp;
        case Phase::kCompilation:
            return Category::kCompilation;
        case Phase::kAutotuning:
            return Category::kAutotuning;
        case Phase::kNone:
        case Phase::kNamed:
            break;
    }
    return Category::kUnknown;
}

}  // namespace

Facet category_facet(const TrackedBlock& block, const BlockHistory& history, FacetHelp& help) {
    const Definitions& definitions = help.stacks.definitions();
    Category category = reported_category(definitions.tensor(block.block.tensor).kind);
    if (category == Category::kUnknown && is_untraced(help.stacks, block.block)) {
        category = Category::kUntraced;
    }
    if (category == Category::kUnknown) {
        category = stack_category(block.block, help);
    }
    if (category == Category::kUnknown) {
        category = life_category(block, history, help);
    }
    return {.value = static_cast<uint32_t>(category)};
}

BlockRow row_by_category(StackLookup&, const BlockGroup& block) {
    const uint32_t value = block.facet.value;
    return named_row(value == 0 ? "not asked" : kCategories[value - 1].name);
}

}  // namespace peakline::report
