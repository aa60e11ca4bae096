// Measures every layer in one pass: see LayerUse. Used by call_replay only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "call_result.h"

namespace peakline::report {

class LayerMeter {
public:
    explicit LayerMeter(size_t layer_count) : uses_(layer_count) {}

    // Call after the levels have changed. `running`: the running layers; `owners`: the layers that
    // hold the block, mostly the same.
    void on_alloc(std::span<const uint32_t> running,
                  std::span<const uint32_t> owners,
                  uint64_t bytes,
                  bool in_backward,
                  const MemoryLevels& levels) {
        for (const uint32_t layer : is_counting_ ? running : std::span<const uint32_t>()) {
            raise(uses_[layer], levels);
        }
        for (const uint32_t layer : owners) {
            LayerUse& use = uses_[layer];
            use.alloc_count += is_counting_ ? 1 : 0;
            use.allocated_bytes += is_counting_ ? bytes : 0;
            use.backward_bytes += is_counting_ && in_backward ? bytes : 0;
            hold(use, bytes);
        }
    }
    void on_free(std::span<const uint32_t> owners, uint64_t bytes) {
        for (const uint32_t layer : owners) {
            uses_[layer].free_count += is_counting_ ? 1 : 0;
            uses_[layer].held_bytes -= bytes;
        }
    }
    // A block that was live at the start of the trace: no known layer made it.
    void on_baseline(std::span<const uint32_t> owners, uint64_t bytes) {
        for (const uint32_t layer : owners) {
            hold(uses_[layer], bytes);
        }
    }
    void on_call(const LayerCall& call) {
        LayerUse& use = uses_[call.layer];
        use.call_count += call.is_called && call.phase != Phase::kBackward ? 1 : 0;
        use.ticks += call.end_tick - call.begin_tick;
    }

    // Switches counting for the requested part of the run. Memory that layers hold at its beginning
    // counts in their peaks; memory at its end is their end level.
    void set_counting(bool is_counting) {
        if (is_counting == is_counting_) {
            return;
        }
        is_counting_ = is_counting;
        for (LayerUse& use : uses_) {
            use.peak_held_bytes =
                is_counting ? std::max(use.peak_held_bytes, use.held_bytes) : use.peak_held_bytes;
        }
        if (!is_counting) {
            at_end_ = uses_;
        }
    }

    // The program's main has ended: blocks freed later count as held to the end.
    void end_main() {
        if (is_counting_) {
            at_end_ = uses_;
        }
    }

    std::vector<LayerUse> take() {
        for (size_t layer = 0; layer < at_end_.size(); ++layer) {
            uses_[layer].held_bytes = at_end_[layer].held_bytes;
            uses_[layer].free_count = at_end_[layer].free_count;
        }
        return std::move(uses_);
    }

private:
    void hold(LayerUse& use, uint64_t bytes) const {
        use.held_bytes += bytes;
        if (is_counting_) {
            use.peak_held_bytes = std::max(use.peak_held_bytes, use.held_bytes);
        }
    }
    static void raise(LayerUse& use, const MemoryLevels& levels) {
        use.peak_allocated_bytes = std::max(use.peak_allocated_bytes, levels.allocated_bytes);
        use.peak_reserved_bytes = std::max(use.peak_reserved_bytes, levels.reserved_bytes);
        if (levels.reserved_bytes >= levels.allocated_bytes && levels.reserved_bytes != 0) {
            use.fragmentation_sum +=
                static_cast<double>(levels.reserved_bytes - levels.allocated_bytes) /
                static_cast<double>(levels.reserved_bytes);
            ++use.fragmentation_count;
        }
    }

    std::vector<LayerUse> uses_;
    std::vector<LayerUse> at_end_;  // empty before the end of main, or of the requested part
    bool is_counting_ = true;
};

}  // namespace peakline::report
