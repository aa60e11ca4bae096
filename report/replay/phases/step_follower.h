// Training steps: each lasts from the end of one optimizer step to the end of the next. Optimizers
// that step directly after another belong to one step; a zero_grad directly after a step belongs to
// that step. Marks of the program (peakline.step()) are followed separately and win if there are
// any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/replay/values/level_meter.h"
#include "report/replay/values/phase_table.h"

namespace peakline::report {

class StepFollower {
public:
    explicit StepFollower(LevelMeter& meter) : meter_(meter) {}

    // At the start of a bounded trace: the step before it may go on, as after its optimizer.
    void continue_earlier_step() {
        pending_ = PhaseInterval();
        begins_with_earlier_ = true;
    }
    // A phase begins that is inside no other.
    void on_phase(Phase phase, EventTime at);
    // The phase of an optimizer that just began is only the frame of its closure.
    void on_closure_begin();
    void on_optimizer_end(EventTime at);
    void on_zero_grad_end(EventTime at);
    void on_mark(std::string name, EventTime at);

    // Fills steps, step_source and last_step_ended.
    void finish(EventTime end, PhaseTable* table);

private:
    struct Running {
        PhaseInterval step;
        LevelMeter::Window window;
    };

    Running begin(EventTime at);
    PhaseInterval end(Running& running, EventTime at);

    LevelMeter& meter_;
    std::optional<Running> running_;
    // Only input was made so far: the next phase may still be the initialisation of the model.
    bool provisional_ = false;
    // A forward or backward pass was seen since the last step of the optimizer.
    bool is_step_ = false;
    // The step after the end of its optimizer; another optimizer directly after it continues this
    // step.
    std::optional<PhaseInterval> pending_;
    std::optional<PhaseInterval> resumed_;
    bool begins_with_earlier_ = false;  // the first step is one from before the trace
    std::vector<PhaseInterval> steps_;
    std::optional<Running> running_mark_;
    std::vector<PhaseInterval> marked_steps_;
};

}  // namespace peakline::report
