#include "stack_lookup.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "phase_rules.h"
#include "report/trace/definitions/compiled_code.h"

namespace peakline::report {
namespace {

// Frames inside of this one belong to torch's engine: reentrant checkpointing calls the engine on
// its own thread, and nodes without a device run on the thread of backward().
constexpr std::string_view kEngineCall = "_engine_run_backward";

bool is_engine_call(const Definitions& definitions, uint32_t frame) {
    return definitions.text(definitions.python_frames[frame].name) == kEngineCall;
}

}  // namespace

const PhaseRules& StackLookup::phase_rules() {
    if (!phase_rules_.has_value()) {
        phase_rules_ = make_phase_rules(definitions_);
    }
    return *phase_rules_;
}

std::vector<uint32_t> StackLookup::own_stack(const Context& context) const {
    std::vector<uint32_t> frames;
    for (uint32_t node = context.python_node; node != 0;
         node = definitions_.python_nodes[node].parent) {
        const uint32_t frame = definitions_.python_nodes[node].frame;
        if (context.forward_node != 0 && is_engine_call(definitions_, frame)) {
            break;
        }
        frames.push_back(frame);
    }
    return frames;
}

ContinuedStack StackLookup::stack_of(uint32_t context_id) const {
    const Context& context = definitions_.contexts[context_id];
    ContinuedStack stack;
    stack.frames = own_stack(context);
    stack.own_count = stack.frames.size();
    const ContinuedStack forward = forward_stack(context.forward_node);
    stack.frames.insert(stack.frames.end(), forward.frames.begin(), forward.frames.end());
    return stack;
}

ContinuedStack StackLookup::forward_stack(uint32_t python_node) const {
    ContinuedStack stack;
    for (; python_node != 0; python_node = definitions_.python_nodes[python_node].parent) {
        stack.frames.push_back(definitions_.python_nodes[python_node].frame);
    }
    return stack;
}

bool StackLookup::has_frames(uint32_t context_id) const {
    const Context& context = definitions_.contexts[context_id];
    return context.python_node != 0 || context.forward_node != 0;
}

StackLookup::Seen StackLookup::seen(uint32_t frame_id) {
    const PythonFrame& frame = definitions_.python_frames[frame_id];
    const uint32_t file = frame.file;
    if (file >= seen_files_.size()) {
        seen_files_.resize(definitions_.strings.count() + 1);
    }
    Seen& seen = seen_files_[file];
    const std::string& path = definitions_.strings[file];
    if (seen == Seen::kNo) {
        seen = is_hidden_by_option(policy_, path)   ? Seen::kHidden
               : only_passes_on(definitions_, file) ? Seen::kPassedOver
               : is_hidden_file(policy_, path)      ? Seen::kPassedOver
                                                    : Seen::kShown;
    }
    const bool passes_on =
        seen == Seen::kShown && passes_over_function(policy_, path, definitions_.text(frame.name));
    return passes_on ? Seen::kPassedOver : seen;
}

bool StackLookup::is_users(uint32_t frame_id) {
    const uint32_t file = definitions_.python_frames[frame_id].file;
    if (file >= own_files_.size()) {
        own_files_.resize(file + 1);
    }
    std::optional<bool>& known = own_files_[file];
    known = known ? known : is_users_file(definitions_.strings[file]);
    return *known;
}

std::optional<size_t> StackLookup::caller_index(const ContinuedStack& stack, size_t index) {
    for (size_t i = index; i < stack.frames.size(); ++i) {
        if (is_users(stack.frames[i])) {
            return i == index ? std::nullopt : std::optional(i);
        }
    }
    return std::nullopt;
}

size_t StackLookup::chosen_index(const ContinuedStack& stack) {
    const auto chosen =
        std::find_if(stack.frames.begin(), stack.frames.end(), [this](uint32_t frame) {
            return seen(frame) == Seen::kShown;
        });
    return chosen == stack.frames.end() ? 0 : static_cast<size_t>(chosen - stack.frames.begin());
}

std::vector<uint32_t> StackLookup::shown_frames(const ContinuedStack& stack) {
    const bool shows_libraries = policy_.choice != FrameChoice::kUser;
    std::vector<uint32_t> shown;
    std::copy_if(
        stack.frames.begin(), stack.frames.end(), std::back_inserter(shown), [&](uint32_t frame) {
            return seen(frame) == Seen::kShown ||
                   (shows_libraries && seen(frame) == Seen::kPassedOver);
        });
    return shown.empty() ? stack.frames : shown;
}

}  // namespace peakline::report
