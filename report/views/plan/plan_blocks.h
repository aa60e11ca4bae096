// Reads of a recording, for a plan: its blocks, its layers that repeat, and those that may be
// checkpointed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layer_flops.h"
#include "report/views/advice/recorded_run.h"
#include "segments.h"

namespace peakline::report {

class PlanBlocks {
public:
    explicit PlanBlocks(const RunFacts& run);

    void see(const RunBlock& block);
    // Call it after the last block.
    void finish() { families_ = runs_.families(); }

    const std::vector<LayerFamily>& families() const { return families_; }
    const LayerFlops& flops() const { return flops_; }
    const PassFlops& pass_flops() const { return pass_flops_; }
    // Changes that take bytes away and cost neither time nor an edit of the model.
    std::vector<Proposal> free_changes();
    // Changes that cost time or precision and an edit of the program, apart from checkpoints.
    std::vector<Proposal> edits();
    // The most bytes of the gradients of one module: its weight and its bias.
    uint64_t largest_gradients() const;
    // The blocks in a step, with their places in `layers`.
    std::vector<StepBlock> of_step(EventRange step, const std::vector<std::string>& layers) const;
    std::map<std::string, uint64_t> categories_at(uint64_t event) const;

private:
    struct Seen {
        uint64_t alloc_event = 0;
        uint64_t free_event = 0;
        int64_t bytes = 0;
        Phase made_in = Phase::kNone;
        const BlockOrigin* origin = nullptr;
    };

    const RunFacts& run_;
    LayerRuns runs_;
    LayerFlops flops_;
    PassFlops pass_flops_;
    std::vector<std::unique_ptr<AdviceRule>> rules_;
    std::vector<std::unique_ptr<AdviceRule>> edit_rules_;
    std::map<std::pair<std::string, size_t>, uint64_t> gradients_;  // by module and pass
    std::vector<Seen> blocks_;
    std::vector<LayerFamily> families_;
};

struct PlanRecording {
    PlanRecording(const TraceReader& reader,
                  const Selection& selection,
                  StackLookup& stacks,
                  const Progress& progress);

    // The step of the last forward pass; nullopt: the recording has no whole step.
    std::optional<EventRange> last_step() const;

    RecordedRun run;
    PlanBlocks blocks;
};

// Why there can be no plan; empty: there can.
std::string refusal_of(const TraceReader& reader, const PlanRecording& recorded);

struct Candidate {
    std::string layer;
    std::vector<const LayerRun*> runs;
};

// Layers that a plan may checkpoint. Adds a sentence for those that it may not.
std::vector<Candidate> candidates_of(const PlanRecording& recorded,
                                     std::vector<std::string>* left_out);

}  // namespace peakline::report
