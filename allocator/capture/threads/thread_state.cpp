#include "thread_state.h"

#include <cstring>
#include <type_traits>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allocator/record/tables/leaf_lock.h"

namespace peakline::capture {

constinit thread_local ThreadState* g_thread_state = nullptr;
constinit thread_local uint64_t g_python_pause = 2;  // no stack is known in it

namespace {

record::LeafLock g_free_lock;
ThreadState* g_free_states = nullptr;  // Guarded by g_free_lock.
pthread_key_t g_exit_key;
pthread_once_t g_exit_key_once = PTHREAD_ONCE_INIT;

// Runs when a thread ends. Frees later in the same thread's end make a new state, and this runs
// again for it (up to PTHREAD_DESTRUCTOR_ITERATIONS times; after that one state stays in use).
void give_state_back(void* pointer) {
    auto* state = static_cast<ThreadState*>(pointer);
    g_thread_state = nullptr;
    const record::LockGuard guard(g_free_lock);
    state->next_free = g_free_states;
    g_free_states = state;
}

void make_exit_key() {
    pthread_key_create(&g_exit_key, give_state_back);
}

ThreadState* take_free_state() {
    const record::LockGuard guard(g_free_lock);
    ThreadState* state = g_free_states;
    if (state != nullptr) {
        g_free_states = state->next_free;
    }
    return state;
}

// Its zero bytes are a whole state: nothing of it has a constructor that would have to run.
static_assert(std::is_aggregate_v<ThreadState> && std::is_trivially_copyable_v<ThreadState> &&
              std::is_trivial_v<decltype(ThreadState::predictor)> &&
              std::is_trivial_v<decltype(ThreadState::contexts)>);
ThreadState* map_state() {
    void* const memory = mmap(
        nullptr, sizeof(ThreadState), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? static_cast<ThreadState*>(memory) : nullptr;
}

}  // namespace

ThreadState* thread_state_slow(record::StackTable& table) {
    pthread_once(&g_exit_key_once, make_exit_key);
    ThreadState* state = take_free_state();
    if (state == nullptr) {
        state = map_state();
    }
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
    g_thread_state = state;
    pthread_setspecific(g_exit_key, state);
    return state;
}

void prepare_fork_threads() {
    g_free_lock.lock();
}
void parent_after_fork_threads() {
    g_free_lock.unlock();
}
void child_after_fork_threads() {
    g_free_lock.reset_after_fork();
}

}  // namespace peakline::capture
