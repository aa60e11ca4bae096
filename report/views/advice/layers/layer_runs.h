// The runs of a model's repeated layers: the blocks that a layer makes and keeps in one forward
// pass, the blocks that go into it and come out of it, and its part of the backward pass. For
// `advise` and `plan`.
//
// Note [Recomputed layers]
// Without reentrance a checkpointed layer runs as before, but the values it keeps for the backward
// pass are freed when it ends. Its results stay, because the program uses them, and its inputs stay
// until its own backward pass is over. When the backward pass first needs one of these values, the
// layer runs again, up to the last kept value: its blocks are made and freed once more there, in
// the order of the forward pass, and then live as they did. Casts of weights by autocast are freed
// when the region of autocast ends, and a recomputation makes them again. The events of the
// recording show all of this: the blocks of a layer that outlive the pass, the live set while it
// ran, and the event where the backward pass begins to free them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layer_inputs.h"
#include "report/views/advice/rules/rule.h"

namespace peakline::report {

// "h.0.attn" is part of layer "h.0" of the family "h.*".
struct LayerName {
    std::string family;
    std::string layer;
};
// The outermost part of a path that is a number names the layer; nullopt: there is none.
std::optional<LayerName> layer_of(std::string_view path);

// A block that a layer made in one forward pass.
struct LayerBlock {
    uint64_t ordinal = 0;
    uint64_t alloc_event = 0;
    uint64_t free_event = 0;
    uint64_t bytes = 0;
    uint32_t context = 0;
    uint32_t type = 0;  // of its tensor: id in Definitions; 0: unknown
    bool is_weight_copy = false;
    const std::string* op = nullptr;
    const std::string* module = nullptr;
};

// One run of a layer: forward, and the backward pass that follows.
struct LayerRun {
    std::string layer;
    std::vector<LayerBlock> blocks;  // of the forward pass, in order
    size_t pass = 0;                 // number of the forward pass, from 1
    uint64_t pass_end = 0;           // blocks freed later are held for the backward pass
    // In the backward pass: the first event that needs them, and the layer's last event.
    uint64_t backward_event = std::numeric_limits<uint64_t>::max();
    uint64_t backward_end = 0;
    bool is_split = false;       // another layer ran in between: the layer was called again
    bool is_recomputed = false;  // the program checkpoints it already

    std::vector<PassBlock> inputs;        // of any age
    std::vector<const LayerBlock*> held;  // freed where it is checkpointed

    uint64_t begin_event() const { return blocks.front().alloc_event; }
    // The event after which a checkpointed layer has freed what it held.
    uint64_t end_event() const { return blocks.back().alloc_event + 1; }
    bool has_backward() const {
        return backward_event != std::numeric_limits<uint64_t>::max() && !held.empty();
    }
    // Whether the same lines ran several times in a row, as for a layer that is called again.
    bool is_repeated() const;
};

// An input that several layers of a pass read: any checkpoint keeps it, but only once.
struct SharedInput {
    PassBlock block;
    uint64_t backward_end = 0;  // of the last layer that reads it
};

// The layers of one family. Runs live as long as the LayerRuns that found them.
struct LayerFamily {
    std::string name;
    std::vector<std::string> layers;    // in the order of their first run
    std::vector<const LayerRun*> runs;  // in order
    std::vector<SharedInput> shared;
    BlockSums line;  // of the activations
};

class LayerRuns {
public:
    explicit LayerRuns(const RunFacts& run);

    // Call it with every block, in the order they were made.
    void see(const RunBlock& block);
    // Call it after all blocks. Families with one layer are left out.
    std::vector<LayerFamily> families();

private:
    struct Layer {
        std::vector<LayerRun> runs;
        std::optional<size_t> run_of_pass(size_t pass) const;
    };
    struct Family {
        std::map<std::string, Layer> layers;
        BlockSums line;
    };

    void see_forward(const RunBlock& block, const LayerName& name, Family* family);
    // A guess, where no other module shows it.
    uint64_t result_of(const LayerRun& run) const;
    void complete(LayerRun* run, const LayerRun* before) const;

    const RunFacts& run_;
    LayerInputs inputs_;
    std::map<std::string, Family> families_;
    std::string last_layer_;  // that made a block
};

// Adds the changes of one checkpointed run, without inputs that it shares with others.
void checkpoint_run(const LayerRun& run, LevelChanges* changes);
// Adds those of the shared inputs: the same for any set of checkpointed layers, at most.
void keep_shared_inputs(const LayerFamily& family, LevelChanges* changes);

}  // namespace peakline::report
