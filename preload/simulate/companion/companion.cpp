// Entry of the companion of the simulated GPU. The simulated driver loads it when the first context
// is made (preload/simulate/gpu/driver/companion.h). Compiled against the installed torch. Watches
// torch's operators, keeps small values correct, and reports reads of values that do not exist to
// the recorder.
#include <exception>

#include <ATen/record_function.h>
#include <dlfcn.h>

#include "blocks.h"
#include "checks.h"
#include "device_tensors.h"
#include "device_values.h"
#include "distinct_choices.h"
#include "operator_info.h"
#include "operator_results.h"
#include "routing.h"
#include "running_operators.h"
#include "small_operators.h"

namespace peakline::simulated {
namespace {

constexpr size_t kMaxIntegerBytes = size_t{1} << 30;
constexpr size_t kMaxRoutedBytes = size_t{8} << 30;

thread_local RunningOperators t_running;

// Notes the tensor that a copy to the host or item() reads.
void describe(c10::ArrayRef<const c10::IValue> inputs, RunningOperator* running) {
    for (const c10::IValue& input : inputs) {
        if (input.isTensor() && input.toTensor().defined()) {
            const at::Tensor& tensor = input.toTensor();
            running->element_count = has_known_sizes(tensor) ? tensor.numel() : 0;
            running->scalar_type = static_cast<int>(tensor.scalar_type());
            return;
        }
    }
}

// An operator with a kernel that is not a copy reads memory of its own, whose known contents may be
// stale (see reads_are_guessed of the device).
void report_to_device() {
    bool launches_are_reported = false;
    bool reads_are_guessed = false;
    for (int i = 0; i < t_running.kept(); ++i) {
        const RunningOperator& running = t_running.items[i];
        launches_are_reported = launches_are_reported || running.is_reported;
        reads_are_guessed = reads_are_guessed || (running.info->is_leaf && !running.info->copies);
    }
    if (launches_are_reported != t_running.launches_are_reported ||
        reads_are_guessed != t_running.reads_are_guessed) {
        t_running.launches_are_reported = launches_are_reported;
        t_running.reads_are_guessed = reads_are_guessed;
        device_values()->set_operator(launches_are_reported ? 1 : 0, reads_are_guessed ? 1 : 0);
    }
}

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& function) {
    const OperatorInfo& info = operator_info(function);
    ++t_running.depth;
    RunningOperator* const running = t_running.top();
    if (running != nullptr) {
        *running = RunningOperator{&info};
        describe(function.inputs(), running);
        running->expert_count = expert_count(info, function.inputs());
        running->is_check = is_check(info, function.inputs());
        running->chooses = chooses_several(info, function.inputs());
    }
    begin_results(info, &t_running);
    auto call = begin_operator(info, function.inputs(), running);
    if (running != nullptr) {
        running->is_reported = info.is_leaf;
    }
    report_to_device();
    return call;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
    const OperatorInfo& info = operator_info(function);
    const RunningOperator* const ended = t_running.top();
    const int64_t choice_count = ended != nullptr ? ended->expert_count : 0;
    const bool checks = ended != nullptr && ended->is_check;
    const bool chooses = ended != nullptr && ended->chooses;
    --t_running.depth;
    end_results(function.outputs(), &t_running);
    report_to_device();
    watch_blocks_once();
    if (info.is_leaf) {
        end_operator(info, static_cast<OperatorCall*>(context), function.outputs());
        if (choice_count > 0) {
            choose_experts(choice_count, function.outputs());
        } else if (chooses) {
            choose_distinct(function.outputs());
        }
    }
    if (checks) {
        pass_check(function.outputs());
    }
}

void watch() {
    if (device_values() == nullptr) {
        return;
    }
    at::addGlobalCallback(at::RecordFunctionCallback(&on_begin, &on_end)
                              .needsInputs(true)
                              .needsOutputs(true)
                              .scopes({at::RecordScope::FUNCTION}));
    device_values()->set_read_handler(on_guessed_read);
    device_values()->keep_large(routing_is_assumed() ? kMaxRoutedBytes : kMaxIntegerBytes);
}

// From now on all processes of the run guard checkpoints (preload/simulate/guard).
void report_device_use() {
    const auto report =
        reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "peakline_guard_device_used"));
    if (report != nullptr) {
        report();
    }
}

__attribute__((constructor)) void start() {
    report_device_use();
    watch();
}

// Returns false if the process has no such function.
template <class Function>
bool look_up(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    return *function != nullptr;
}

}  // namespace

RunningOperators& running_operators() {
    return t_running;
}

const DeviceValues* device_values() {
    static const DeviceValues* const functions = []() -> const DeviceValues* {
        static DeviceValues found{};
        const bool is_whole = look_up("peakline_sim_set_read_handler", &found.set_read_handler) &&
                              look_up("peakline_sim_set_operator", &found.set_operator) &&
                              look_up("peakline_sim_read_values", &found.read) &&
                              look_up("peakline_sim_write_values", &found.write) &&
                              look_up("peakline_sim_zero_values", &found.zero) &&
                              look_up("peakline_sim_set_true", &found.set_true) &&
                              look_up("peakline_sim_values_origin", &found.origin) &&
                              look_up("peakline_sim_keep_large_values", &found.keep_large) &&
                              look_up("peakline_sim_forget_values", &found.forget) &&
                              look_up("peakline_sim_begin_block", &found.begin_block) &&
                              look_up("peakline_sim_is_capturing", &found.is_capturing) &&
                              look_up("peakline_sim_await_values", &found.await) &&
                              look_up("peakline_sim_may_await_others", &found.may_await_others) &&
                              look_up("peakline_sim_get_read_listener", &found.get_read_listener);
        return is_whole ? &found : nullptr;
    }();
    return functions;
}

}  // namespace peakline::simulated
