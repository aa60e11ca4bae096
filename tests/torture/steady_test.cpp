// In steady state one event takes no heap, no system call, and no lock but the recorder's own leaf
// lock: counted while malloc and pthread_mutex_lock are our own, and while the kernel answers
// every system call with SIGSYS. The way of an event is that of the hooks: native stack, context,
// record. steady_test; exit code 1 when anything was counted.
//
// "Steady": every stack, context and shape was seen before, and the open chunk has room. A new
// chunk (every 256 KiB, some 40,000 events) takes a few system calls; so does the check that no
// library was unloaded, where the loader's counts are unknown, every thousand captures of a thread.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allocator/capture/native_stack.h"
#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/capture/unwind/unwind_rules.h"
#include "allocator/record/recorder.h"

namespace {

bool g_counts = false;  // one thread only
uint64_t g_heap_calls = 0;
uint64_t g_mutex_locks = 0;
volatile sig_atomic_t g_system_calls = 0;
volatile sig_atomic_t g_last_system_call = 0;

}  // namespace

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);

void* malloc(size_t size) {
    g_heap_calls += g_counts ? 1 : 0;
    return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
    g_heap_calls += g_counts ? 1 : 0;
    return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
    g_heap_calls += g_counts ? 1 : 0;
    return __libc_realloc(old, size);
}
void free(void* old) {
    g_heap_calls += g_counts ? 1 : 0;
    __libc_free(old);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
    g_mutex_locks += g_counts ? 1 : 0;
    // Without the symbol that we replaced: trying is another one.
    int result = 0;
    while ((result = pthread_mutex_trylock(mutex)) == EBUSY) {
    }
    return result;
}
}

using namespace peakline;
using record::AllocEvent;
using record::Recorder;

namespace {

constexpr int kEvents = 1000;

void on_forbidden(int, siginfo_t* info, void*) {
    g_system_calls = g_system_calls + 1;
    g_last_system_call = info->si_syscall;
}

// From here on only write, exit and the return from a signal reach the kernel.
bool forbid_system_calls() {
    struct sigaction action = {};
    action.sa_sigaction = on_forbidden;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &action, nullptr);
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter{sizeof program / sizeof program[0], program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

[[gnu::noinline]] void one_pair(Recorder& recorder, int number, int depth) {
    if (depth > 0) {
        one_pair(recorder, number, depth - 1);
        asm volatile("");  // no tail call: the frame counts
        return;
    }
    const uint64_t address = (static_cast<uint64_t>(number % 50) + 1) * 4096;
    capture::ThreadState* state = capture::thread_state(recorder.table());
    const uint32_t context = capture::capture_context(recorder.table(), *state);
    recorder.record_alloc(AllocEvent{address, 500, 512, context, 0, 0}, record::kUnknownTotal);
    recorder.record_free(address, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
}

void run(Recorder& recorder, int events) {
    for (int i = 0; i < events; ++i) {
        one_pair(recorder, i, 20 + i % 3 * 15);
    }
}

void print(const char* what, uint64_t count) {
    char line[96];
    const int length = std::snprintf(line,
                                     sizeof line,
                                     "steady_test: %llu %s in %d events\n",
                                     static_cast<unsigned long long>(count),
                                     what,
                                     2 * kEvents);
    if (write(STDOUT_FILENO, line, static_cast<size_t>(length)) < 0) {
        _exit(2);
    }
}

}  // namespace

int main() {
    const std::string path = "/tmp/peakline-steady-" + std::to_string(getpid()) + ".peak";
    Recorder& recorder = Recorder::instance();
    Recorder::TraceOptions options{};
    options.path = path.c_str();
    options.exists = record::FileTarget::Exists::kReplace;
    if (!recorder.init(nullptr) || !capture::init_native_stacks() ||
        recorder.open_trace(options) != 0) {
        std::fprintf(stderr, "steady_test: cannot record to %s\n", path.c_str());
        return 1;
    }
    unlink(path.c_str());
    capture::set_capture_options({false, true});
    recorder.start_tracing();
    // Both rounds from one place in the code: another is another stack. The first one ends with the
    // check for unloaded libraries: the next one is that many captures away.
    static_assert(kEvents < capture::kCapturesPerLoaderCheck);
    for (const bool is_warm : {false, true}) {
        if (is_warm && !forbid_system_calls()) {
            std::printf("steady_test: skipped, the kernel has no seccomp filters here\n");
            return 0;
        }
        g_counts = is_warm;
        run(recorder, is_warm ? kEvents : 3 * static_cast<int>(capture::kCapturesPerLoaderCheck));
        g_counts = false;
    }
    print("heap calls", g_heap_calls);
    print("mutex locks (the leaf lock is none)", g_mutex_locks);
    print("system calls", static_cast<uint64_t>(g_system_calls));
    if (g_system_calls != 0) {
        print("is the number of the last one", static_cast<uint64_t>(g_last_system_call));
    }
    _exit(g_heap_calls + g_mutex_locks + static_cast<uint64_t>(g_system_calls) == 0 ? 0 : 1);
}
