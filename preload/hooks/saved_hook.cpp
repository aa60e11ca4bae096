#include "saved_hook.h"

#include "allocator/capture/libraries/got_patch.h"
#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/recorder.h"
#include "library_hooks.h"

namespace peakline::preload {
namespace {

using record::Recorder;

// torch::autograd::SavedVariable::SavedVariable(const at::Tensor& variable, bool is_output,
//     bool is_inplace_on_view), and the same for std::optional<at::Tensor>.
// A tensor is a pointer to its TensorImpl; an optional one has a flag after it.
constexpr char kTensorSymbol[] = "_ZN5torch8autograd13SavedVariableC1ERKN2at6TensorEbb";
constexpr char kOptionalSymbol[] =
    "_ZN5torch8autograd13SavedVariableC1ERKSt8optionalIN2at6TensorEEbb";

struct TensorReference {
    uint64_t impl;
};
struct OptionalReference {
    TensorReference tensor;
    bool has_value;
};
using TensorConstructor = void (*)(void*, const TensorReference*, bool, bool);
using OptionalConstructor = void (*)(void*, const OptionalReference*, bool, bool);

// Set once before the imports are redirected.
TensorConstructor g_real_tensor = nullptr;
OptionalConstructor g_real_optional = nullptr;
const torch_part::Part* g_part = nullptr;
bool g_is_wanted = false;

void record_saved(const TensorReference& tensor) {
    Recorder& recorder = Recorder::instance();
    if (!recorder.is_tracing()) {
        return;
    }
    const uint64_t storage = g_part->tensor_type(tensor.impl).storage;
    if (storage == 0 || !recorder.is_unsaved(storage)) {
        return;
    }
    if (capture::ThreadState* const state = capture::thread_state(recorder.table())) {
        recorder.record_saved(storage, capture::capture_context(recorder.table(), *state));
    }
}

void tensor_hook(void* saved, const TensorReference* tensor, bool is_output, bool is_of_view) {
    g_real_tensor(saved, tensor, is_output, is_of_view);
    record_saved(*tensor);
}

void optional_hook(void* saved, const OptionalReference* tensor, bool is_output, bool is_of_view) {
    g_real_optional(saved, tensor, is_output, is_of_view);
    if (tensor->has_value) {
        record_saved(tensor->tensor);
    }
}

template <class Function>
void hook(const char* symbol, Function replacement, Function* real) {
    if (*real == nullptr) {
        *real = reinterpret_cast<Function>(capture::find_in_loaded("libtorch_cpu.so", symbol));
    }
    if (*real != nullptr) {
        add_library_hook(symbol, reinterpret_cast<void*>(replacement));
    }
}

}  // namespace

void want_saved_tensors() {
    g_is_wanted = true;
}

void hook_saved_tensors(const torch_part::Part& part) {
    g_part = &part;
    if (g_is_wanted && part.tensor_type != nullptr) {
        hook(kTensorSymbol, tensor_hook, &g_real_tensor);
        hook(kOptionalSymbol, optional_hook, &g_real_optional);
    }
}

bool misses_saved_tensors() {
    return g_is_wanted && (g_real_tensor == nullptr || g_real_optional == nullptr);
}

}  // namespace peakline::preload
