#include "module_chains.h"

#include <algorithm>

#include "frame_instance.h"
#include "report/attribute/names/module_names.h"

namespace peakline::report {
namespace {

// The modules on a stack, innermost first; the frames of one call count once.
class ModulesOfStack {
public:
    explicit ModulesOfStack(const Definitions& definitions) : definitions_(definitions) {}

    void add(uint32_t frame) {
        const uint32_t instance = module_of_frame(definitions_, definitions_.python_frames[frame]);
        if (instance != 0 && (instances_.empty() || instances_.back() != instance)) {
            instances_.push_back(instance);
        }
    }
    // Drops the modules added so far: they run within this frame.
    void leave_out_so_far() { instances_.clear(); }
    std::vector<uint32_t> outermost_first() && {
        std::reverse(instances_.begin(), instances_.end());
        return std::move(instances_);
    }

private:
    const Definitions& definitions_;
    std::vector<uint32_t> instances_;
};

std::vector<uint32_t> running_modules(const StackLookup& stacks, const Context& context) {
    ModulesOfStack modules(stacks.definitions());
    for (const uint32_t frame : stacks.own_stack(context)) {
        modules.add(frame);
    }
    return std::move(modules).outermost_first();
}

std::vector<uint32_t> forward_modules(const StackLookup& stacks, uint32_t forward_node) {
    ModulesOfStack modules(stacks.definitions());
    for (const uint32_t frame : stacks.forward_stack(forward_node).frames) {
        modules.add(frame);
    }
    return std::move(modules).outermost_first();
}

// The modules around the call of checkpointing; none when the stack has no such call. The running
// node was made inside it, by the first module that read a saved tensor.
std::vector<uint32_t> modules_around_checkpoint(const StackLookup& stacks, uint32_t forward_node) {
    const Definitions& definitions = stacks.definitions();
    ModulesOfStack modules(definitions);
    bool found = false;
    for (const uint32_t frame : stacks.forward_stack(forward_node).frames) {
        if (definitions.text(definitions.python_frames[frame].file)
                .ends_with("/torch/utils/checkpoint.py")) {
            modules.leave_out_so_far();
            found = true;
        } else {
            modules.add(frame);
        }
    }
    return found ? std::move(modules).outermost_first() : std::vector<uint32_t>();
}

}  // namespace

ModuleChains::ModuleChains(StackLookup& stacks)
    : stacks_(stacks), definitions_(stacks.definitions()) {
    chains_.of({});
}

uint32_t ModuleChains::of_context(const Context& context, Phase phase) {
    // Contexts that differ only in their native side have the same modules.
    const auto [known, is_new] = known_.try_emplace(
        {context.python_node, context.forward_node, phase == Phase::kRecomputation});
    if (is_new) {
        known->second = chains_.of(from_stacks(context, phase));
    }
    return known->second;
}

ModuleChains::Chain ModuleChains::from_stacks(const Context& context, Phase phase) {
    Chain chain;
    const std::vector<uint32_t> running = running_modules(stacks_, context);
    if (context.forward_node != 0 && phase == Phase::kRecomputation) {
        for (const uint32_t instance : modules_around_checkpoint(stacks_, context.forward_node)) {
            add_module(instance, false, &chain);
        }
    } else if (context.forward_node != 0) {
        for (const uint32_t instance : forward_modules(stacks_, context.forward_node)) {
            add_module(instance, true, &chain);
        }
    }
    for (const uint32_t instance : running) {
        add_module(instance, true, &chain);
    }
    return chain;
}

uint32_t ModuleChains::of_owner(uint32_t instance) {
    Chain chain;
    if (instance != 0) {
        add_module(instance, true, &chain);
    }
    return chains_.of(chain);
}

uint32_t ModuleChains::layer_at(uint32_t root, const std::string& path) {
    return layers_.of(module_path_name(
        definitions_, root, path, stacks_.modules(), stacks_.has_several_models()));
}

// Adds the model itself, then every part of the path except the last: see Note [Containers].
void ModuleChains::add_containers(uint32_t instance, Chain* chain) {
    const Instance& module = definitions_.instance(instance);
    const std::string path(definitions_.text(module.path));
    if (module.root == 0 || path.empty()) {
        return;
    }
    for (size_t end = 0; end != std::string::npos; end = path.find('.', end + 1)) {
        const ChainLayer around = {layer_at(module.root, path.substr(0, end)), false};
        const bool is_there = std::any_of(chain->begin(), chain->end(), [&](ChainLayer layer) {
            return layer.layer == around.layer;
        });
        if (!is_there) {
            chain->push_back(around);
        }
    }
}

void ModuleChains::add_module(uint32_t instance, bool is_called, Chain* chain) {
    add_containers(instance, chain);
    const uint32_t layer = layers_.of(
        module_name(definitions_, instance, stacks_.modules(), stacks_.has_several_models()));
    // Equal neighbours count once: folded names, and frames of one call.
    if (!chain->empty() && chain->back().layer == layer) {
        chain->back().is_called |= is_called;
    } else {
        chain->push_back({layer, is_called});
    }
}

void ModuleChains::take(CallRules* rules) {
    rules->chains = chains_.take();
    rules->layers = layers_.take();
    rules->holders.reserve(rules->chains.size());
    for (const Chain& chain : rules->chains) {
        std::vector<uint32_t>& holders = rules->holders.emplace_back();
        for (const ChainLayer& layer : chain) {
            holders.push_back(layer.layer);
        }
        std::sort(holders.begin(), holders.end());
        holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
    }
}

}  // namespace peakline::report
