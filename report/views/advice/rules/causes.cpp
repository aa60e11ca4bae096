#include "causes.h"

#include <algorithm>
#include <iterator>

namespace peakline::report {
namespace {

struct Cause {
    std::string_view name;
    CauseKind kind;
    bool is_leak = false;
};

constexpr Cause kCauses[] = {{"zero_grad_late", CauseKind::kFault},
                             {"zero_grad_keeps", CauseKind::kFault},
                             {"held_to_next_step", CauseKind::kFault},
                             {"results_kept", CauseKind::kFault, true},
                             {"results_joined", CauseKind::kFault, true},
                             {"graphs_kept", CauseKind::kFault, true},
                             {"double_backward_kept", CauseKind::kFault, true},
                             {"gradients_kept", CauseKind::kFault, true},
                             {"models_kept", CauseKind::kFault, true},
                             {"graph_unused", CauseKind::kFault},
                             {"checkpoint_too_large", CauseKind::kFault},
                             {"optimizer_temporaries", CauseKind::kTrade},
                             {"optimizer_state", CauseKind::kTrade},
                             {"optimizer_state_8bit", CauseKind::kTrade},
                             {"checkpoint_layers", CauseKind::kTrade},
                             {"loss_of_all_tokens", CauseKind::kTrade},
                             {"attention_matrix", CauseKind::kTrade},
                             {"weight_copies", CauseKind::kTrade},
                             {"value_copies", CauseKind::kTrade},
                             {"generation_cache", CauseKind::kTrade},
                             {"cache_length", CauseKind::kTrade},
                             {"rounding", CauseKind::kTrade},
                             {"compiling_peak", CauseKind::kTrade},
                             {"large_line", CauseKind::kFact}};

const Cause& cause_named(std::string_view name) {
    const Cause* const found = std::find_if(std::begin(kCauses),
                                            std::prev(std::end(kCauses)),
                                            [&](const Cause& cause) { return cause.name == name; });
    return *found;
}

}  // namespace

const char* cause_kind_name(CauseKind kind) {
    switch (kind) {
        case CauseKind::kFault:
            return "fault";
        case CauseKind::kTrade:
            return "trade";
        case CauseKind::kFact:
            break;
    }
    return "fact";
}

CauseKind cause_kind(std::string_view name) {
    return cause_named(name).kind;
}

bool is_leak(std::string_view name) {
    return cause_named(name).is_leak;
}

}  // namespace peakline::report
