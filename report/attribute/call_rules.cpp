#include "call_rules.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "grouping.h"
#include "report/attribute/names/numbers.h"
#include "report/attribute/operators/dispatched_call.h"
#include "report/attribute/operators/operator_names.h"
#include "report/attribute/operators/operator_search.h"
#include "report/attribute/stacks/module_chains.h"

namespace peakline::report {
namespace {

// Returns "add.Tensor" for "aten::add.Tensor", "mm.default" for "aten::mm".
std::string dispatch_name(std::string name) {
    constexpr std::string_view kAten = "aten::";
    if (name.rfind(kAten, 0) != 0) {
        return name;
    }
    name.erase(0, kAten.size());
    return name.find('.') == std::string::npos ? name + ".default" : name;
}

// The call found on a native stack, up to Python.
struct FoundCall {
    // The outermost operator that was redispatched to the next dispatch key: operators called by
    // composite ones are below it, and calls from its kernel are not redispatched.
    std::string name;
    // Equal for the allocations of one call: the node of that operator or of the outermost
    // operator.
    uint32_t site = 0;
};

FoundCall find_call(StackLookup& stacks, uint32_t node) {
    constexpr std::string_view kHandedOn = "::redispatch(";
    constexpr std::string_view kInterpreter = "_PyEval_";
    const Definitions& definitions = stacks.definitions();
    FoundCall handed_on;
    uint32_t outermost = 0;
    for (; node != 0; node = definitions.native_nodes[node].parent) {
        const std::string& function = stacks.symbols().name(definitions.native_nodes[node].frame);
        if (function.rfind(kInterpreter, 0) == 0) {
            break;
        }
        std::string name = operator_of_symbol(function);
        outermost = name.empty() ? outermost : node;
        if (!name.empty() && function.find(kHandedOn) != std::string::npos) {
            handed_on = {std::move(name), node};
        }
    }
    // A mere allocation may be redispatched although its operator was not: ones_like.
    const bool is_mere = handed_on.name.empty() || is_mere_allocation(handed_on.name);
    return is_mere ? FoundCall{{}, outermost} : handed_on;
}

std::string name_by_op(StackLookup& stacks, uint32_t context) {
    BlockGroup block;
    block.context = context;
    return row_by_op(stacks, block).label.key;
}

bool is_pass(Phase phase) {
    return phase == Phase::kForward || phase == Phase::kBackward ||
           phase == Phase::kRecomputation || phase == Phase::kGraphWarmUp;
}

class RuleMaker {
public:
    explicit RuleMaker(StackLookup& stacks)
        : stacks_(stacks), definitions_(stacks.definitions()), modules_(stacks) {
        operations_.of({});
    }

    CallRules make(CallNames names) {
        const PhaseRules& phases = stacks_.phase_rules();
        rules_.contexts.resize(definitions_.contexts.count() + 1);
        for (uint32_t id = 1; id < rules_.contexts.size(); ++id) {
            const Context& context = definitions_.contexts[id];
            ContextCall& call = rules_.contexts[id];
            call.thread = context.thread;
            call.operator_key = phases.contexts[id].operator_key;
            call.phase = phases.contexts[id].phase;
            call.chain = modules_.of_context(context, call.phase);
            call.running = is_pass(call.phase) ? call.chain : 0;
            if (names == CallNames::kLayersAndOperators && !definitions_.is_untraced(id)) {
                find_operation(id, &call);
            }
        }
        rules_.tensor_chains.resize(definitions_.tensors.size() + 1);
        for (uint32_t id = 1; id < rules_.tensor_chains.size(); ++id) {
            rules_.tensor_chains[id] = modules_.of_owner(definitions_.tensor(id).instance);
        }
        modules_.take(&rules_);
        rules_.operations = operations_.take();
        return std::move(rules_);
    }

private:
    void find_operation(uint32_t id, ContextCall* call) {
        const Context& context = definitions_.contexts[id];
        const DispatchedCall dispatched = find_dispatched_call(stacks_, context);
        if (dispatched.python_node != 0) {
            follow_mode(id, dispatched, call);
        } else {
            follow_native(id, context, call);
        }
    }

    // For a call without a name, the operation of its first allocation, which is its result, names
    // all.
    void follow_mode(uint32_t id, const DispatchedCall& dispatched, ContextCall* call) {
        const Context& context = definitions_.contexts[id];
        call->operator_key = (dispatched.python_node * 0x9E3779B1U) ^
                             (context.forward_node * 0x85EBCA77U) ^
                             (dispatched.native_node * 0xC2B2AE3DU);
        const auto [known, is_new] =
            mode_calls_.try_emplace({dispatched.python_node, dispatched.native_node});
        if (is_new) {
            known->second =
                number_of(dispatched.name.empty() ? name_by_op(stacks_, id) : dispatched.name);
        }
        call->operation = known->second;
    }

    // Contexts that differ only in their Python side share a native stack and its operator.
    void follow_native(uint32_t id, const Context& context, ContextCall* call) {
        const auto [known, is_new] = native_calls_.try_emplace(context.native_node);
        if (is_new) {
            const FoundCall found = find_call(stacks_, context.native_node);
            known->second = {found.name.empty() ? 0 : number_of(found.name), found.site};
        }
        const auto& [operation, site] = known->second;
        call->operation = operation != 0 ? operation : number_of(name_by_op(stacks_, id));
        call->operator_key ^= site * 0xC2B2AE3DU;
    }

    uint32_t number_of(const std::string& name) { return operations_.of(dispatch_name(name)); }

    StackLookup& stacks_;
    const Definitions& definitions_;
    CallRules rules_;
    ModuleChains modules_;
    Numbers<std::string> operations_;
    // Operations by the nodes of a DispatchedCall.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> mode_calls_;
    std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> native_calls_;  // operation, site
};

}  // namespace

CallRules make_call_rules(StackLookup& stacks, CallNames names) {
    return RuleMaker(stacks).make(names);
}

}  // namespace peakline::report
