#include "gil_watch.h"

#include <cstddef>
#include <cstdint>

#include <dlfcn.h>
#include <pthread.h>

#include "allocator/capture/libraries/got_patch.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/hot_data.h"

namespace peakline::pyhook {
namespace {

constexpr char kSignal[] = "pthread_cond_signal";
using SignalFunction = int (*)(pthread_cond_t* condition);

// Set before the import is redirected to the functions that read them.
[[PEAKLINE_HOT_DATA]] SignalFunction g_real_signal = nullptr;
[[PEAKLINE_HOT_DATA]] const pthread_cond_t* g_release_condition = nullptr;

// The signals of the attaching thread.
struct Heard {
    static constexpr size_t kRoom = 8;

    pthread_t thread;
    const pthread_cond_t* conditions[kRoom];
    size_t count;
};
Heard g_heard;

int listening_signal(pthread_cond_t* condition) {
    if (pthread_equal(g_heard.thread, pthread_self()) != 0 && g_heard.count < Heard::kRoom) {
        g_heard.conditions[g_heard.count++] = condition;
    }
    return g_real_signal(condition);
}

[[gnu::hot]] int watching_signal(pthread_cond_t* condition) {
    const uint64_t next_even = (capture::g_python_pause | 1U) + 1;
    capture::g_python_pause = next_even + (condition == g_release_condition ? 1 : 0);
    return g_real_signal(condition);
}

// Redirects CPython's own import. Returns false if it has none.
bool lead_to(const PythonApi& api, SignalFunction function) {
    return capture::redirect_imports_of(reinterpret_cast<const void*>(api.PyEval_SaveThread),
                                        kSignal,
                                        reinterpret_cast<void*>(function)) > 0;
}

// Releases the GIL and takes it. Returns the number of signals from the release.
size_t let_others_run(const PythonApi& api) {
    void* const thread = api.PyEval_SaveThread();
    const size_t count = g_heard.count;
    api.PyEval_RestoreThread(thread);
    return count;
}

// The condition that is signalled when the GIL is released; nullptr: CPython differs from the note.
const pthread_cond_t* find_condition(const PythonApi& api) {
    for (int i = 0; i < 2; ++i) {
        const size_t after_first_half = let_others_run(api);
        if (g_heard.count != after_first_half + 1) {
            return nullptr;
        }
    }
    const auto& heard = g_heard.conditions;
    const bool is_as_noted =
        g_heard.count == 4 && heard[0] != heard[1] && heard[0] == heard[2] && heard[1] == heard[3];
    return is_as_noted ? heard[0] : nullptr;
}

}  // namespace

void watch_gil(const PythonApi& api) {
    g_real_signal = reinterpret_cast<SignalFunction>(dlsym(RTLD_DEFAULT, kSignal));
    if (g_real_signal == nullptr) {
        return;
    }
    // Binds the import, if it is still unbound. Signals are sent under the mutex of the GIL, so no
    // other thread binds it any more.
    let_others_run(api);
    g_heard = Heard{pthread_self(), {}, 0};
    if (lead_to(api, listening_signal)) {
        g_release_condition = find_condition(api);
        lead_to(api, g_release_condition != nullptr ? watching_signal : g_real_signal);
    }
}

}  // namespace peakline::pyhook
