#include "thread_state.h"

#include <cstring>
#include <type_traits>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread_blocks.h"

namespace peakline::capture {

constinit thread_local ThreadState* g_thread_state = nullptr;
constinit thread_local uint64_t g_python_pause = 2;  // no stack is known in it

namespace {

void set_own(ThreadState* state) {
    g_thread_state = state;
}
using ThreadStates = ThreadBlocks<ThreadState, set_own>;

// All zero bytes are a valid state: no member has a constructor that would have to run.
static_assert(std::is_aggregate_v<ThreadState> && std::is_trivially_copyable_v<ThreadState> &&
              std::is_trivial_v<decltype(ThreadState::predictor)> &&
              std::is_trivial_v<decltype(ThreadState::contexts)>);

}  // namespace

ThreadState* thread_state_slow(record::StackTable& table) {
    if (!table.is_ready()) {
        return nullptr;  // in a child of fork
    }
    ThreadState* const state = ThreadStates::take_slow();
    if (state == nullptr) {
        return nullptr;
    }
    static_cast<ThreadBegin&>(*state) = ThreadBegin{};
    char name[16] = {};
    prctl(PR_GET_NAME, name);
    const auto number = syscall(SYS_gettid);
    state->thread_id =
        table.add_thread(static_cast<uint32_t>(number), name, strnlen(name, sizeof name));
    state->is_main_thread = number == getpid();
    state->is_engine_thread = strncmp(name, "pt_autograd", strlen("pt_autograd")) == 0;
    return state;
}

void free_states_of_lost_threads() {
    ThreadStates::free_others(g_thread_state);
}

}  // namespace peakline::capture
