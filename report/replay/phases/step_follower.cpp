#include "step_follower.h"

#include <utility>

namespace peakline::report {

StepFollower::Running StepFollower::begin(EventTime at) {
    Running running;
    running.step.begin_event = at.event;
    running.step.begin_tick = at.tick;
    running.window = meter_.open(at.tick);
    return running;
}

PhaseInterval StepFollower::end(Running& running, EventTime at) {
    PhaseInterval step = std::move(running.step);
    step.end_event = at.event;
    step.end_tick = at.tick;
    step.uses = meter_.close(running.window);
    return step;
}

void StepFollower::on_phase(Phase phase, EventTime at) {
    if (phase == Phase::kOptimizer || (phase == Phase::kZeroGrad && pending_.has_value())) {
        resumed_ = std::exchange(pending_, std::nullopt);
    } else if (pending_.has_value()) {
        steps_.push_back(*std::exchange(pending_, std::nullopt));
    }
    if (phase == Phase::kInitialisation) {
        if (provisional_ && running_.has_value()) {
            end(*running_, at);
            running_.reset();
        }
        return;
    }
    if (!running_.has_value()) {
        running_ = begin(at);
        provisional_ = phase == Phase::kOther;
    }
    provisional_ = provisional_ && phase == Phase::kOther;
    is_step_ = is_step_ || phase == Phase::kForward || phase == Phase::kBackward;
}

void StepFollower::on_closure_begin() {
    if (resumed_.has_value()) {
        pending_ = std::exchange(resumed_, std::nullopt);
    }
}

void StepFollower::on_optimizer_end(EventTime at) {
    if (!running_.has_value()) {
        return;
    }
    PhaseInterval step = end(*running_, at);
    if (resumed_.has_value()) {
        resumed_->uses.append(step.uses);
        step.uses = std::move(resumed_->uses);
        step.begin_event = resumed_->begin_event;
        step.begin_tick = resumed_->begin_tick;
        resumed_.reset();
    }
    pending_ = std::move(step);
    is_step_ = false;
    running_ = begin(at);
}

void StepFollower::on_zero_grad_end(EventTime at) {
    if (resumed_.has_value()) {
        on_optimizer_end(at);
    }
}

void StepFollower::on_mark(std::string name, EventTime at) {
    if (running_mark_.has_value()) {
        marked_steps_.push_back(end(*running_mark_, at));
    }
    running_mark_ = begin(at);
    running_mark_->step.name = std::move(name);
}

void StepFollower::finish(EventTime end_time, PhaseTable* table) {
    if (pending_.has_value()) {
        steps_.push_back(*std::exchange(pending_, std::nullopt));
    }
    if (begins_with_earlier_ && !steps_.empty()) {
        steps_.erase(steps_.begin());
    }
    if (running_mark_.has_value()) {
        marked_steps_.push_back(end(*running_mark_, end_time));
        table->steps = std::move(marked_steps_);
        table->step_source = StepSource::kMarks;
    } else if (!steps_.empty()) {
        table->steps = std::move(steps_);
        table->step_source = StepSource::kOptimizer;
        if (running_.has_value() && is_step_) {
            table->steps.push_back(end(*running_, end_time));
            table->last_step_ended = false;
        }
    }
}

}  // namespace peakline::report
