// Detects forward passes directly one after another. Nothing separates them, so their allocations
// must show the border. A pass begins where the first context of the phase repeats, directly after
// the context that also ends the phase. A loop within a pass ends with another allocation, so it is
// no pass.
#pragma once

#include <cstdint>
#include <vector>

#include "forward_run.h"
#include "report/replay/values/phase_table.h"

namespace peakline::report {

// Follows one phase at a time.
class RepeatedPasses {
public:
    // Adds the next allocation of the phase. True: another pass may begin with it.
    bool may_begin_with(uint32_t context) {
        const bool is_again = context == first_ && last_ != first_;
        first_ = first_ == kNone ? context : first_;
        previous_ = last_;
        last_ = context;
        return is_again;
    }
    // The phase was split before the last added allocation.
    void split(uint32_t before, uint32_t interval) {
        if (parts_.empty()) {
            parts_.push_back({before, kNone});
        }
        parts_.push_back({interval, previous_});
    }
    // The phase has ended: joins the parts of one pass.
    void end(std::vector<PhaseInterval>& phases) {
        for (size_t i = 1, pass = 0; i < parts_.size(); ++i) {
            if (parts_[i].after == last_) {
                pass = i;
            } else {
                join_forward(phases[parts_[pass].interval], phases[parts_[i].interval]);
            }
        }
        *this = {};
    }

private:
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Part {
        uint32_t interval;
        uint32_t after;  // the context of the previous allocation
    };
    uint32_t first_ = kNone;  // contexts
    uint32_t last_ = kNone;
    uint32_t previous_ = kNone;  // before `last_`
    std::vector<Part> parts_;
};

}  // namespace peakline::report
