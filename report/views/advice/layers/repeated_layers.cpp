// Activations that torch.utils.checkpoint would make again in the backward pass. See Note
// [Recomputed layers] in layer_runs.h.
#include <memory>

#include "layer_runs.h"
#include "report/views/advice/rules/attempts.h"
#include "report/views/advice/rules/rules.h"

namespace peakline::report {
namespace {

class RepeatedLayers : public AdviceRule {
public:
    explicit RepeatedLayers(const RunFacts& run) : runs_(run) {}

    void see(const RunBlock& block) override { runs_.see(block); }

    void propose(std::vector<Proposal>* proposals) override {
        for (const LayerFamily& family : runs_.families()) {
            Proposal one;
            one.rule = "checkpoint_layers";
            one.evidence =
                "layers of one class with activations that are live until the backward pass";
            one.title = "Activations of " + std::to_string(family.layers.size()) + " layers " +
                        family.name + " wait for the backward pass";
            one.change =
                "checkpoint them: torch.utils.checkpoint.checkpoint(layer, ..., "
                "use_reentrant=False), or model.gradient_checkpointing_enable(); each "
                "runs forward once more";
            family.line.describe(&one);
            for (const LayerRun* const run : family.runs) {
                checkpoint_run(*run, &one.most);
            }
            keep_shared_inputs(family, &one.most);
            one.attempt = std::string(attempts::kCheckpoint) + "=" + family.name;
            proposals->push_back(std::move(one));
        }
    }

private:
    LayerRuns runs_;
};

}  // namespace

std::unique_ptr<AdviceRule> make_repeated_layers(const RunFacts& run) {
    return std::make_unique<RepeatedLayers>(run);
}

}  // namespace peakline::report
