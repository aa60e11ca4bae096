// Forward passes directly one after another: nothing stands between them, so their allocations tell
// them apart. A pass begins where the first allocation of the phase is made again, from the same
// place, directly after the place that the phase also ends with. A loop within a pass, whose last
// allocation is another, is no pass.
#pragma once

#include <cstdint>
#include <vector>

#include "forward_run.h"
#include "report/replay/values/phase_table.h"

namespace peakline::report {

// Of one phase at a time.
class RepeatedPasses {
public:
    // The next allocation of the phase. True: another pass may begin with it.
    bool may_begin_with(uint32_t context) {
        const bool is_again = context == first_ && last_ != first_;
        first_ = first_ == kNone ? context : first_;
        previous_ = last_;
        last_ = context;
        return is_again;
    }
    // The phase was split before the allocation asked about last.
    void split(uint32_t before, uint32_t interval) {
        if (parts_.empty()) {
            parts_.push_back({before, kNone});
        }
        parts_.push_back({interval, previous_});
    }
    // The phase has ended: parts of one pass are joined.
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
        uint32_t after;  // the context of the allocation before it
    };
    uint32_t first_ = kNone;  // contexts
    uint32_t last_ = kNone;
    uint32_t previous_ = kNone;  // before `last_`
    std::vector<Part> parts_;
};

}  // namespace peakline::report
