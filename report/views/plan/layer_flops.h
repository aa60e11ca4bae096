// FLOPs of a layer's forward pass, from the shapes of its results: matrix products and convolutions
// with the weight of a module, and fused attention. As torch.utils.flop_counter counts them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "report/views/advice/layers/layer_runs.h"
#include "report/views/advice/rules/rule.h"

namespace peakline::report {

class LayerFlops {
public:
    explicit LayerFlops(const Definitions& definitions) : definitions_(definitions) {}

    // Call it with every block: it finds the weights.
    void see(const RunBlock& block);
    // nullopt: a product has no known weight. 0 in recordings without shapes of results.
    std::optional<uint64_t> of_run(const LayerRun& run) const;
    std::optional<uint64_t> of_block(const std::string& op,
                                     const std::string& module,
                                     uint32_t type) const;

private:
    std::optional<uint64_t> with_tied_weight(const std::vector<uint64_t>& shape) const;

    struct Weight {
        uint64_t element_count = 0;
        std::vector<uint64_t> shape;
    };

    const Definitions& definitions_;
    std::map<std::string, Weight> weights_;  // by module
};

// FLOPs of a step: those of its last forward pass, and of a backward pass that computes the
// gradients of both factors of each product. An estimate: frozen weights need less.
class PassFlops {
public:
    // Call it with every block of a forward pass that has a graph.
    void see(const RunBlock& block, const LayerFlops& flops, size_t pass);
    std::optional<uint64_t> of_step() const;

private:
    size_t pass_ = 0;  // the last one
    std::optional<uint64_t> sum_ = 0;
};

}  // namespace peakline::report
