#include "late_attach.h"

#include <atomic>
#include <cerrno>

#include <unistd.h>

#include "allocator/capture/libraries/got_patch.h"

namespace peakline::pyhook {
namespace {

// Written once, before the imports and the pending call are redirected.
const PythonApi* g_api = nullptr;
void (*g_when_possible)() = nullptr;
// relaxed: only a hint. attach() decides under the GIL.
std::atomic<bool> g_is_waiting{false};
thread_local bool t_is_attaching = false;

constexpr useconds_t kPauseMicroseconds = 1000;
constexpr int kMostPauses = 1000;

bool can_attach() {
    return !t_is_attaching && g_is_waiting.load(std::memory_order_relaxed) &&
           g_api->Py_IsInitialized() != 0 && g_api->PyGILState_Check() != 0;
}

void attach_if_waiting() {
    if (can_attach()) {
        t_is_attaching = true;
        g_when_possible();
        t_is_attaching = false;
    }
}

// Attaching lets other threads run. One that takes the GIL meanwhile gives it back, as if it had
// got it later, so that its next lines have stacks.
void let_another_thread_attach() {
    for (int i = 0; i < kMostPauses && can_attach(); ++i) {
        void* const thread = g_api->PyEval_SaveThread();
        usleep(kPauseMicroseconds);
        g_api->PyEval_RestoreThread(thread);
    }
}

void restore_thread_hook(void* thread) {
    g_api->PyEval_RestoreThread(thread);
    if (g_is_waiting.load(std::memory_order_relaxed)) [[unlikely]] {
        const int error = errno;  // callers may read it, as after the real function
        attach_if_waiting();
        let_another_thread_attach();
        errno = error;
    }
}

int attach_pending(void*) {
    attach_if_waiting();
    return 0;
}

}  // namespace

void wait_for_gil(const PythonApi& api, void (*when_possible)()) {
    g_api = &api;
    g_when_possible = when_possible;
    g_is_waiting.store(true, std::memory_order_relaxed);
    capture::redirect_imports(
        "PyEval_RestoreThread", "", reinterpret_cast<void*>(restore_thread_hook));
    // Without an initialised interpreter there is no queue.
    if (api.Py_AddPendingCall != nullptr && api.Py_IsInitialized() != 0) {
        api.Py_AddPendingCall(attach_pending, nullptr);
    }
}

void stop_waiting() {
    g_is_waiting.store(false, std::memory_order_relaxed);
}

}  // namespace peakline::pyhook
