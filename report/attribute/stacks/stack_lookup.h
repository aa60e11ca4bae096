// Finds the frames of a context that reports show. Caches which files are hidden; one object serves
// one report and one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frame_policy.h"
#include "report/replay/values/phase.h"
#include "report/symbols/native_symbols.h"
#include "report/trace/definitions/definitions.h"

namespace peakline::report {

// Note [Continued stacks]
// The Python stack of a thread of the autograd engine ends at the engine's call: at a backward
// function, a hook, a recomputation of checkpointing, or there is no Python at all. The stack that
// created the running node, in the forward pass, continues it outward, so the line of the program
// is found there. It also replaces the callers of backward() when the engine works on their thread.
struct ContinuedStack {
    std::vector<uint32_t> frames;  // python frames, leaf first
    // frames of the thread itself; the rest is the node's forward stack
    size_t own_count = 0;

    bool is_forward(size_t index) const { return index >= own_count; }
};

class StackLookup {
public:
    // `definitions` must outlive the lookup.
    StackLookup(const Definitions& definitions, FramePolicy policy)
        : definitions_(definitions),
          policy_(std::move(policy)),
          symbols_(definitions, policy_.symbol_folders),
          has_several_models_(report::has_several_models(definitions)) {}

    const Definitions& definitions() const { return definitions_; }
    const ModuleFolding& modules() const { return policy_.modules; }
    bool has_several_models() const { return has_several_models_; }
    // Names of native frames, loaded on first use.
    NativeSymbols& symbols() { return symbols_; }
    // Computed on first use.
    const PhaseRules& phase_rules();
    // The stack of an allocation. Without frames: there was no Python.
    ContinuedStack stack_of(uint32_t context_id) const;
    // The thread's own part of the stack; see Note [Continued stacks].
    std::vector<uint32_t> own_stack(const Context& context) const;
    // The stack that created an autograd node.
    ContinuedStack forward_stack(uint32_t python_node) const;
    bool has_frames(uint32_t context_id) const;
    // The index of the frame that reports show for a stack with frames: see FramePolicy. The leaf
    // when all are hidden.
    size_t chosen_index(const ContinuedStack& stack);
    // The innermost frame of the program itself behind `index`, if that frame is of a library.
    std::optional<size_t> caller_index(const ContinuedStack& stack, size_t index);
    FrameChoice choice() const { return policy_.choice; }
    bool shows_native() const { return policy_.shows_native; }
    // All shown frames from leaf to root: without those hidden by --hide and, with --frame user,
    // those of libraries. If none would be left, all of them.
    std::vector<uint32_t> shown_frames(const ContinuedStack& stack);

private:
    enum class Seen : unsigned char { kNo, kShown, kPassedOver, kHidden };
    Seen seen(uint32_t frame_id);
    bool is_users(uint32_t frame_id);

    const Definitions& definitions_;
    FramePolicy policy_;
    NativeSymbols symbols_;
    bool has_several_models_;
    std::optional<PhaseRules> phase_rules_;
    std::vector<Seen> seen_files_;                // by string id
    std::vector<std::optional<bool>> own_files_;  // the same
};

}  // namespace peakline::report
