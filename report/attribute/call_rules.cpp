#include "call_rules.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "frame_instance.h"
#include "grouping.h"
#include "module_names.h"
#include "operator_names.h"
#include "operator_search.h"

namespace peakline::report {
namespace {

// "add.Tensor" of "aten::add.Tensor", "mm.default" of "aten::mm".
std::string dispatch_name(std::string name) {
    constexpr std::string_view kAten = "aten::";
    if (name.rfind(kAten, 0) != 0) {
        return name;
    }
    name.erase(0, kAten.size());
    return name.find('.') == std::string::npos ? name + ".default" : name;
}

// A native stack up to Python.
struct FoundCall {
    // The outermost operator that was handed on to the next dispatch key: what composite operators
    // call is below it, what its kernel calls is not handed on.
    std::string name;
    // Equal for the allocations of one call: the node of that operator or of the outermost one.
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
    // Memory alone is handed on for an operator that is not: ones_like.
    const bool is_mere = handed_on.name.empty() || is_mere_allocation(handed_on.name);
    return is_mere ? FoundCall{{}, outermost} : handed_on;
}

std::string name_by_op(StackLookup& stacks, uint32_t context) {
    BlockGroup block;
    block.context = context;
    return place_by_op(stacks, block).label.key;
}

bool is_pass(Phase phase) {
    return phase == Phase::kForward || phase == Phase::kBackward || phase == Phase::kRecomputation;
}

// Ids of equal things, from 0 in the order they come.
template <class Key>
class Numbers {
public:
    uint32_t of(const Key& key, std::vector<Key>* items) {
        const auto [at, is_new] = ids_.try_emplace(key, static_cast<uint32_t>(items->size()));
        if (is_new) {
            items->push_back(key);
        }
        return at->second;
    }

private:
    std::map<Key, uint32_t> ids_;
};

class RuleMaker {
public:
    explicit RuleMaker(StackLookup& stacks) : stacks_(stacks), definitions_(stacks.definitions()) {
        rules_.chains.emplace_back();
        chain_ids_.of({}, &no_chains_);
        rules_.operations.emplace_back();
        index_paths();
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
            call.chain = chain_of_context(context);
            call.running = is_pass(call.phase) ? call.chain : 0;
            if (names == CallNames::kLayersAndOperators && !definitions_.is_untraced(id)) {
                find_operation(id, &call);
            }
        }
        rules_.tensor_chains.resize(definitions_.tensors.size() + 1);
        for (uint32_t id = 1; id < rules_.tensor_chains.size(); ++id) {
            rules_.tensor_chains[id] = chain_of_owner(definitions_.tensor(id).instance);
        }
        return std::move(rules_);
    }

private:
    using Chain = std::vector<uint32_t>;

    // Modules of one model by their path, to find those around an owner.
    void index_paths() {
        for (uint32_t id = 1; id <= definitions_.instances.size(); ++id) {
            const Instance& instance = definitions_.instance(id);
            if (instance.root != 0) {
                by_path_.try_emplace({instance.root, std::string(definitions_.text(instance.path))},
                                     id);
            }
        }
    }

    uint32_t layer_of(uint32_t instance) {
        return layer_ids_.of(
            module_name(definitions_, instance, stacks_.modules(), stacks_.has_several_models()),
            &rules_.layers);
    }

    // Equal neighbours are one: folded names, and frames of one call.
    uint32_t keep_chain(Chain instances) {
        Chain layers;
        for (auto instance = instances.rbegin(); instance != instances.rend(); ++instance) {
            const uint32_t layer = layer_of(*instance);
            if (layers.empty() || layers.back() != layer) {
                layers.push_back(layer);
            }
        }
        return chain_ids_.of(layers, &rules_.chains);
    }

    // The modules that run, from the innermost; of a stack that has none those of its caller.
    uint32_t chain_of_node(uint32_t node) {
        Chain instances;
        const uint32_t asked = node;
        const auto known = chain_of_node_.find(asked);
        if (known != chain_of_node_.end()) {
            return known->second;
        }
        for (; node != 0; node = definitions_.python_nodes[node].parent) {
            const uint32_t instance = module_of_frame(
                definitions_, definitions_.python_frames[definitions_.python_nodes[node].frame]);
            if (instance != 0 && (instances.empty() || instances.back() != instance)) {
                instances.push_back(instance);
            }
        }
        return chain_of_node_[asked] = keep_chain(std::move(instances));
    }

    uint32_t chain_of_context(const Context& context) {
        const uint32_t running = chain_of_node(context.python_node);
        return running != 0 ? running : chain_of_node(context.forward_node);
    }

    uint32_t chain_of_owner(uint32_t instance) {
        if (instance == 0) {
            return 0;
        }
        const Instance& owner = definitions_.instance(instance);
        std::string path(definitions_.text(owner.path));
        Chain instances = {instance};
        while (owner.root != 0 && !path.empty()) {
            const size_t dot = path.rfind('.');
            path = dot == std::string::npos ? std::string() : path.substr(0, dot);
            const auto around = by_path_.find({owner.root, path});
            if (around != by_path_.end()) {
                instances.push_back(around->second);
            }
        }
        return keep_chain(std::move(instances));
    }

    // Contexts that differ in their python side only share a native stack and its operator.
    void find_operation(uint32_t id, ContextCall* call) {
        const Context& context = definitions_.contexts[id];
        const auto [known, is_new] = native_calls_.try_emplace(context.native_node);
        if (is_new) {
            const FoundCall found = find_call(stacks_, context.native_node);
            known->second = {found.name.empty() ? 0 : number_of(found.name), found.site};
        }
        const auto& [operation, site] = known->second;
        call->operation = operation != 0 ? operation : number_of(name_by_op(stacks_, id));
        call->operator_key ^= site * 0xC2B2AE3DU;
    }

    uint32_t number_of(const std::string& name) {
        return operation_ids_.of(dispatch_name(name), &rules_.operations);
    }

    StackLookup& stacks_;
    const Definitions& definitions_;
    CallRules rules_;
    Numbers<Chain> chain_ids_;
    std::vector<Chain> no_chains_;
    Numbers<std::string> layer_ids_;
    Numbers<std::string> operation_ids_;
    std::map<std::pair<uint32_t, std::string>, uint32_t> by_path_;
    std::unordered_map<uint32_t, uint32_t> chain_of_node_;
    std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> native_calls_;  // operation, site
};

}  // namespace

CallRules make_call_rules(StackLookup& stacks, CallNames names) {
    return RuleMaker(stacks).make(names);
}

}  // namespace peakline::report
