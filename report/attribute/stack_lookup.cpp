#include "stack_lookup.h"

#include <string_view>

#include "phase_rules.h"

namespace peakline::report {

const PhaseRules& StackLookup::phase_rules() {
    if (!phase_rules_.has_value()) {
        phase_rules_ = make_phase_rules(definitions_);
    }
    return *phase_rules_;
}

namespace {

// The frame beneath which torch's engine works without Python: reentrant checkpointing calls it on
// an engine's thread, and what belongs to no device runs on the thread of backward().
constexpr std::string_view kEngineCall = "_engine_run_backward";

bool is_engine_call(const Definitions& definitions, uint32_t python_node) {
    const PythonFrame& leaf =
        definitions.python_frames[definitions.python_nodes[python_node].frame];
    return definitions.text(leaf.name) == kEngineCall;
}

}  // namespace

OwnedStack StackLookup::owned_stack(uint32_t context_id) const {
    const Context& context = definitions_.contexts[context_id];
    if (context.forward_node != 0 &&
        (context.python_node == 0 || is_engine_call(definitions_, context.python_node))) {
        return {context.forward_node, true};
    }
    return {context.python_node, false};
}

bool StackLookup::is_hidden(uint32_t frame_id) {
    const uint32_t file = definitions_.python_frames[frame_id].file;
    if (file >= seen_files_.size()) {
        seen_files_.resize(definitions_.strings.count() + 1);
    }
    Seen& seen = seen_files_[file];
    if (seen == Seen::kNo) {
        const bool hidden = is_hidden_file(policy_, definitions_.strings[file]);
        seen = hidden ? Seen::kHidden : Seen::kShown;
    }
    return seen == Seen::kHidden;
}

uint32_t StackLookup::chosen_frame(uint32_t node) {
    const uint32_t leaf = definitions_.python_nodes[node].frame;
    while (node != 0) {
        const StackNode& at = definitions_.python_nodes[node];
        if (!is_hidden(at.frame)) {
            return at.frame;
        }
        node = at.parent;
    }
    return leaf;
}

std::vector<uint32_t> StackLookup::shown_frames(uint32_t node) {
    std::vector<uint32_t> shown;
    std::vector<uint32_t> all;
    for (; node != 0; node = definitions_.python_nodes[node].parent) {
        const uint32_t frame = definitions_.python_nodes[node].frame;
        all.push_back(frame);
        if (!is_hidden(frame)) {
            shown.push_back(frame);
        }
    }
    return shown.empty() ? all : shown;
}

}  // namespace peakline::report
