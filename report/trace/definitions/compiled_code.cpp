#include "compiled_code.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "compiled_facts.h"

namespace peakline::report {
namespace {

// A thread's own frames outward of this one belong to backward()'s caller, as in
// Note [Continued stacks].
constexpr std::string_view kEngineCall = "_engine_run_backward";

bool is_of_torch(std::string_view file) {
    return file.find("/torch/") != std::string_view::npos;
}

// A chain of nodes, leaf first.
using Chain = std::vector<uint32_t>;

class Placing {
public:
    Placing(Definitions* definitions, const CompiledFacts& facts)
        : definitions_(*definitions), facts_(facts) {}

    void run() {
        if (!find_generated()) {
            return;
        }
        for (uint32_t id = 1; id <= definitions_.contexts.count(); ++id) {
            const Context context = definitions_.contexts[id];
            if (is_below(context.python_node) || is_below(context.forward_node)) {
                place(id, context);
            }
        }
    }

private:
    struct Found {
        const CompiledLine* line = nullptr;
        size_t function_index = 0;  // of the compiled function's node in its chain
        bool is_replaced = true;    // else it only calls the code
    };
    struct Placed {
        uint32_t python_node = 0;
        uint32_t forward_node = 0;
        const CompiledLine* line = nullptr;
    };

    const PythonFrame& frame_of(uint32_t node) const {
        return definitions_.python_frames[definitions_.python_nodes[node].frame];
    }

    bool is_below(uint32_t node) const { return node < is_below_.size() && is_below_[node]; }

    // Marks the nodes at and below lines of generated files that have facts.
    bool find_generated() {
        std::vector<bool> is_generated(definitions_.python_frames.count() + 1);
        bool found = false;
        for (uint32_t id = 1; id < is_generated.size(); ++id) {
            const PythonFrame& frame = definitions_.python_frames[id];
            is_generated[id] =
                !facts_.lines_of(definitions_.strings[frame.file], frame.line).empty();
            found = found || is_generated[id];
        }
        is_below_.resize(definitions_.python_nodes.count() + 1);
        for (uint32_t id = 1; found && id < is_below_.size(); ++id) {
            const StackNode& node = definitions_.python_nodes[id];
            is_below_[id] = (node.frame < is_generated.size() && is_generated[node.frame]) ||
                            is_below_[node.parent];
        }
        return found;
    }

    Chain chain_of(uint32_t node) const {
        Chain chain;
        for (; node != 0; node = definitions_.python_nodes[node].parent) {
            chain.push_back(node);
        }
        return chain;
    }

    void place(uint32_t id, const Context& context) {
        const std::pair<uint32_t, uint32_t> key{context.python_node, context.forward_node};
        auto known = placed_.find(key);
        if (known == placed_.end()) {
            known = placed_.emplace(key, placed_for(context)).first;
        }
        Context& changed = *(definitions_.contexts.begin() + (id - 1));
        changed.python_node = known->second.python_node;
        changed.forward_node = known->second.forward_node;
        if (known->second.line != nullptr) {
            const CompiledLine& line = *known->second.line;
            definitions_.compiled[id] = {line.source, line.operators};
        }
    }

    Placed placed_for(const Context& context) {
        if (!is_below(context.python_node)) {
            // The node was made by operators that a graph calls one by one.
            Context outer = context;
            outer.python_node = context.forward_node;
            outer.forward_node = 0;
            const Placed forward = placed_for(outer);
            return {context.python_node, forward.python_node, forward.line};
        }
        Placed placed{context.python_node, context.forward_node};
        const Chain own = chain_of(context.python_node);
        size_t generated = 0;
        while (facts_of(own[generated]).empty()) {
            ++generated;
        }
        const auto lines = facts_of(own[generated]);
        const size_t end = own_end(own, context);
        Found found = find_function(lines, own, generated + 1, end);
        const bool is_called = found.line != nullptr;
        Chain forward;
        if (!is_called && context.forward_node != 0) {
            forward = chain_of(context.forward_node);
            found = find_function(lines, forward, 0, forward.size());
        }
        const bool is_own = is_called || found.line == nullptr;
        if (found.line == nullptr && lines.front().is_anywhere) {
            found = {&lines.front(), first_caller(own, generated, end), false};
        }
        if (found.line == nullptr) {
            return placed;
        }
        placed.line = found.line;
        if (found.line->source == LineSource::kStale) {
            return placed;
        }
        const Chain& chain = is_own ? own : forward;
        const uint32_t lines_node = insert(chain, found);
        const size_t passing = is_own ? generated : chain.size();
        const uint32_t leaf = pass_on(chain, found.function_index, passing, lines_node);
        placed.python_node = is_own ? leaf : pass_on(own, own.size(), own.size(), 0);
        placed.forward_node = is_own ? context.forward_node : leaf;
        return placed;
    }

    // The innermost frame outside of torch that runs a graph.
    size_t first_caller(const Chain& chain, size_t generated, size_t end) const {
        size_t i = generated + 1;
        for (; i < end; ++i) {
            const std::string& file = definitions_.strings[frame_of(chain[i]).file];
            if (!is_of_torch(file) && !facts_.has_file(file)) {
                break;
            }
        }
        return i;
    }

    std::span<const CompiledLine> facts_of(uint32_t node) const {
        const PythonFrame& frame = frame_of(node);
        return facts_.lines_of(definitions_.strings[frame.file], frame.line);
    }

    size_t own_end(const Chain& own, const Context& context) const {
        if (context.forward_node == 0) {
            return own.size();
        }
        const auto call = std::find_if(own.begin(), own.end(), [this](uint32_t node) {
            return definitions_.text(frame_of(node).name) == kEngineCall;
        });
        return static_cast<size_t>(call - own.begin());
    }

    // Finds the innermost function that one of the lines belongs to.
    Found find_function(std::span<const CompiledLine> lines,
                        const Chain& chain,
                        size_t begin,
                        size_t end) const {
        for (size_t i = begin; i < end; ++i) {
            Found found;
            const uint32_t running = running_module(chain, i);
            for (const CompiledLine& line : lines) {
                if (!line.function->holds(definitions_, frame_of(chain[i]))) {
                    continue;
                }
                // Several modules can have compiled the same function.
                if (found.line == nullptr || line.function->instance == running) {
                    found = {&line, i};
                }
            }
            if (found.line != nullptr) {
                return found;
            }
        }
        return {};
    }

    // The module whose method the compiled function is: that of torch's frames around it.
    uint32_t running_module(const Chain& chain, size_t function_index) const {
        for (size_t i = function_index + 1; i < chain.size(); ++i) {
            const PythonFrame& frame = frame_of(chain[i]);
            const std::string_view file = definitions_.text(frame.file);
            if (!is_of_torch(file)) {
                break;
            }
            if (frame.instance != 0 && file.ends_with("/torch/nn/modules/module.py")) {
                return frame.instance;
            }
        }
        return 0;
    }

    // One compiled function serves several modules of a class: the fact names the first one's
    // parts.
    uint32_t module_of(const CompiledLine& line, uint32_t running) {
        const Instance& compiled = definitions_.instance(line.function->instance);
        const Instance& wanted = definitions_.instance(line.instance);
        const Instance& now = definitions_.instance(running);
        const bool is_another = running != 0 && running != line.function->instance &&
                                now.class_name == compiled.class_name && now.root != 0;
        if (!is_another || line.instance == 0) {
            return line.instance;
        }
        const std::string from(definitions_.text(compiled.path));
        const std::string path(definitions_.text(wanted.path));
        if (wanted.root != compiled.root || !path.starts_with(from)) {
            return line.instance;
        }
        std::string moved = std::string(definitions_.text(now.path)) + path.substr(from.size());
        if (now.path == 0 && moved.starts_with('.')) {
            moved.erase(0, 1);
        }
        return instance_at(now.root, moved);
    }

    uint32_t instance_at(uint32_t root, const std::string& path) {
        if (instances_.empty()) {
            for (uint32_t id = 1; id <= definitions_.instances.size(); ++id) {
                const Instance& instance = definitions_.instance(id);
                instances_[{instance.root, std::string(definitions_.text(instance.path))}] = id;
            }
        }
        const auto found = instances_.find({root, path});
        return found == instances_.end() ? 0 : found->second;
    }

    // Adds the lines of the model outward of which the compiled function's callers go on.
    uint32_t insert(const Chain& chain, const Found& found) {
        const uint32_t function =
            found.function_index < chain.size() ? chain[found.function_index] : 0;
        uint32_t node = found.is_replaced ? definitions_.python_nodes[function].parent : function;
        const uint32_t running = running_module(chain, found.function_index);
        const auto& frames = found.line->frames;
        for (size_t i = 0; i < frames.size(); ++i) {
            PythonFrame frame{};
            frame.file = string_of(frames[i]->file);
            frame.name = string_of(frames[i]->function);
            frame.qualified_name =
                i == 0 && found.is_replaced ? frame_of(function).qualified_name : frame.name;
            frame.line = frames[i]->line;
            frame.instance = i + 1 == frames.size() ? module_of(*found.line, running) : 0;
            node = node_of(node, frame_id(frame));
        }
        return node;
    }

    // Adds the `count` innermost frames of the chain inward of `outer`. Those of torch and of
    // generated files are marked, and those from `generated` on, which call generated code.
    uint32_t pass_on(const Chain& chain, size_t count, size_t generated, uint32_t outer) {
        for (size_t i = count; i-- > 0;) {
            const uint32_t id = definitions_.python_nodes[chain[i]].frame;
            const std::string& file = definitions_.strings[definitions_.python_frames[id].file];
            if (i >= generated) {
                outer = node_of(outer, marked(id, Module::kOfCaller));
            } else {
                const bool passes = is_of_torch(file) || facts_.has_file(file);
                outer = node_of(outer, passes ? marked(id, Module::kOfFrame) : id);
            }
        }
        return outer;
    }

    // Whether a frame keeps its module. One that calls generated code has the graph for a module.
    enum class Module { kOfFrame, kOfCaller };

    uint32_t marked(uint32_t frame_id, Module module) {
        const PythonFrame frame = definitions_.python_frames[frame_id];
        auto known = marked_.find({frame_id, module});
        if (known == marked_.end()) {
            PythonFrame passing = frame;
            passing.file = passing_file(frame.file);
            passing.instance = module == Module::kOfFrame ? frame.instance : 0;
            known =
                marked_
                    .emplace(std::pair{frame_id, module}, definitions_.python_frames.add(passing))
                    .first;
        }
        return known->second;
    }

    // A string id of its own, with equal text.
    uint32_t passing_file(uint32_t file) {
        auto known = passing_files_.find(file);
        if (known == passing_files_.end()) {
            const std::string text = definitions_.strings[file];
            known = passing_files_.emplace(file, definitions_.strings.add(text)).first;
            definitions_.passing_files.insert(known->second);
        }
        return known->second;
    }

    uint32_t string_of(const std::string& text) {
        auto known = strings_.find(text);
        if (known == strings_.end()) {
            known = strings_.emplace(text, definitions_.strings.add(text)).first;
        }
        return known->second;
    }

    uint32_t frame_id(const PythonFrame& frame) {
        const std::tuple key{frame.file, frame.name, frame.line, frame.instance};
        auto known = frames_.find(key);
        if (known == frames_.end()) {
            known = frames_.emplace(key, definitions_.python_frames.add(frame)).first;
        }
        return known->second;
    }

    uint32_t node_of(uint32_t parent, uint32_t frame) {
        auto known = nodes_.find({parent, frame});
        if (known == nodes_.end()) {
            known = nodes_
                        .emplace(std::pair{parent, frame},
                                 definitions_.python_nodes.add(StackNode{parent, frame}))
                        .first;
        }
        return known->second;
    }

    Definitions& definitions_;
    const CompiledFacts& facts_;
    std::vector<bool> is_below_;  // by node
    std::map<std::pair<uint32_t, uint32_t>, Placed> placed_;
    std::map<std::pair<uint32_t, std::string>, uint32_t> instances_;  // by root and path
    std::map<std::pair<uint32_t, Module>, uint32_t> marked_;
    std::map<uint32_t, uint32_t> passing_files_;
    std::map<std::string, uint32_t> strings_;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint32_t> frames_;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> nodes_;
};

}  // namespace

void place_compiled_lines(Definitions* definitions) {
    const CompiledFacts facts(*definitions);
    if (!facts.empty()) {
        Placing(definitions, facts).run();
    }
}

LineSource line_source(const Definitions& definitions, uint32_t context_id) {
    const auto found = definitions.compiled.find(context_id);
    return found == definitions.compiled.end() ? LineSource::kRecorded : found->second.source;
}

std::string_view fused_operators(const Definitions& definitions, uint32_t context_id) {
    const auto found = definitions.compiled.find(context_id);
    return found == definitions.compiled.end() ? std::string_view() : found->second.operators;
}

bool only_passes_on(const Definitions& definitions, uint32_t file) {
    return definitions.passing_files.contains(file);
}

}  // namespace peakline::report
