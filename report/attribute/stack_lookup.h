// From a context to the frames that stand for it. Remembers which files are hidden; one object
// serves one report and one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frame_policy.h"
#include "report/replay/phase.h"
#include "report/symbols/native_symbols.h"
#include "report/trace/definitions.h"

namespace peakline::report {

// The stack an allocation belongs to.
struct OwnedStack {
    uint32_t node = 0;             // leaf python node; 0: there is none
    bool through_forward = false;  // made by the autograd engine for this forward line
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
    // Names of native frames; what they cost is paid when they are asked for.
    NativeSymbols& symbols() { return symbols_; }
    // Worked out when first asked for.
    const PhaseRules& phase_rules();
    OwnedStack owned_stack(uint32_t context_id) const;
    // The python frame that stands for the stack: see FramePolicy. The leaf when all are hidden.
    uint32_t chosen_frame(uint32_t node);
    // All frames from leaf to root that are not hidden; all of them when all are hidden.
    std::vector<uint32_t> shown_frames(uint32_t node);

private:
    bool is_hidden(uint32_t frame_id);

    const Definitions& definitions_;
    FramePolicy policy_;
    NativeSymbols symbols_;
    bool has_several_models_;
    std::optional<PhaseRules> phase_rules_;
    enum class Seen : unsigned char { kNo, kHidden, kShown };
    std::vector<Seen> seen_files_;  // by string id
};

}  // namespace peakline::report
