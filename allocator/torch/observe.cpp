#include "observe.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <typeinfo>

#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

namespace peakline::torch_part {
namespace {

// Set once, before the first observer.
const Host* g_host = nullptr;

std::unique_ptr<at::ObserverContext> on_scope_begin(const at::RecordFunction& function) {
    g_host->begin_scope(function.name());
    return nullptr;
}

void on_scope_end(const at::RecordFunction& function, at::ObserverContext*) {
    g_host->end_scope(function.name());
}

// AccumulateGrad has the largest unsigned number, which arrives as -1.
std::unique_ptr<at::ObserverContext> on_node_begin(const at::RecordFunction& function) {
    g_host->begin_node(function.name(), function.seqNr(), function.forwardThreadId());
    return nullptr;
}

void on_node_end(const at::RecordFunction&, at::ObserverContext*) {
    g_host->end_node();
}

void observe_nodes() {
    at::addGlobalCallback(at::RecordFunctionCallback(&on_node_begin, &on_node_end)
                              .needsInputs(false)
                              .scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

void observe_scopes() {
    at::addGlobalCallback(at::RecordFunctionCallback(&on_scope_begin, &on_scope_end)
                              .needsInputs(false)
                              .scopes({at::RecordScope::USER_SCOPE}));
}

// at::getStepCallbacks(RecordScope). Set once before the imports are redirected.
constexpr char kStepCallbacksSymbol[] = "_ZN2at16getStepCallbacksENS_11RecordScopeE";
using StepCallbacksFunction = at::StepCallbacks (*)(at::RecordScope);
void* g_real_step_callbacks = nullptr;

at::StepCallbacks step_callbacks_hook(at::RecordScope scope) {
    at::StepCallbacks callbacks =
        reinterpret_cast<StepCallbacksFunction>(g_real_step_callbacks)(scope);
    if (scope == at::RecordScope::USER_SCOPE) {
        callbacks.callbacks_.push_back({&on_scope_begin, &on_scope_end});
    }
    return callbacks;
}

const torch::autograd::Node& as_node(const void* node) {
    return *static_cast<const torch::autograd::Node*>(node);
}

NodeFacts node_facts(const void* node) {
    const torch::autograd::Node& known = as_node(node);
    return NodeFacts{
        reinterpret_cast<uint64_t>(&typeid(known)), known.sequence_nr(), known.thread_id()};
}

void visit_leaves(const void* node, VisitLeaf visit, void* data) {
    for (const torch::autograd::Edge& edge : as_node(node).next_edges()) {
        if (edge.is_valid() && edge.function->sequence_nr() == kNoSequence) {
            visit(edge.function.get(), data);
        }
    }
}

// All nodes written in Python have one C++ type; their name is that of their class.
bool node_name(const void* node, char* out, size_t room) {
    const torch::autograd::Node& known = as_node(node);
    size_t length = 0;
    try {
        const std::string name = known.name();
        length = std::min(name.size(), room - 1);
        memcpy(out, name.data(), length);
    } catch (const std::exception&) {
        // An unnamed operator.
    }
    out[length] = '\0';
    return strcmp(typeid(known).name(), "N5torch8autograd6PyNodeE") != 0;
}

}  // namespace

void offer_observers(const Host& host, Part* part) {
    g_host = &host;
    part->node_facts = node_facts;
    part->visit_leaves = visit_leaves;
    part->node_name = node_name;
    part->observe_nodes = observe_nodes;
    part->step_callbacks = Redirection{"libtorch",
                                       kStepCallbacksSymbol,
                                       reinterpret_cast<void*>(step_callbacks_hook),
                                       &g_real_step_callbacks};
    part->observe_scopes = observe_scopes;
}

}  // namespace peakline::torch_part
