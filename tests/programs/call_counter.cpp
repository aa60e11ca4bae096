// Preloaded by test_steady.py beside peakline: counts the heap calls, locks and system calls made
// on behalf of peakline's libraries, on all threads, between counter_start and counter_stop.
//
// The stack shows the owner of a call: the innermost frame outside of libraries that only pass a
// call on (libc, libstdc++, the loader, the unwinders). So torch's calls below one of our hooks are
// torch's, and calls of libc for us are ours. System calls are answered by a seccomp filter with
// SIGSYS, counted, and then made, from the one instruction that the filter lets through.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum Kind : size_t { kHeap, kLock, kSystemCall, kKinds };
enum class Owner : uint8_t { kProgram, kPassesOn, kPeakline };

struct Library {
    uint64_t start;
    uint64_t end;
    Owner owner;
};

constexpr size_t kMaxLibraries = 2048;
constexpr int kMaxFrames = 24;

// Written by counter_start, while nothing is counted.
Library g_libraries[kMaxLibraries];
size_t g_library_count = 0;

std::atomic<bool> g_counts{false};
std::atomic<uint64_t> g_of_peakline[kKinds];
std::atomic<uint64_t> g_of_all[kKinds];
// The first of peakline's calls, for the message of a test that fails.
void* g_first_frames[kMaxFrames];
std::atomic<int> g_first_count{0};

// Unwinding may itself allocate, lock or call the kernel.
thread_local bool g_is_inside __attribute__((tls_model("initial-exec"))) = false;

Owner owner_of_library(const char* path) {
    const char* slash = strrchr(path, '/');
    const char* name = slash != nullptr ? slash + 1 : path;
    for (const char* ours : {"libpeakline.so", "libpeakline_torch.so", "libpeakline_preload.so"}) {
        if (strcmp(name, ours) == 0) {
            return Owner::kPeakline;
        }
    }
    for (const char* helper : {"libc.so",
                               "libpthread.so",
                               "ld-linux",
                               "libstdc++.so",
                               "libgcc_s.so",
                               "libpkunwind.so",
                               "linux-vdso",
                               "libcall_counter.so"}) {
        if (strncmp(name, helper, strlen(helper)) == 0) {
            return Owner::kPassesOn;
        }
    }
    return Owner::kProgram;
}

int add_library(dl_phdr_info* info, size_t, void*) {
    Library library{~uint64_t{0}, 0, owner_of_library(info->dlpi_name)};
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            const uint64_t start = info->dlpi_addr + segment.p_vaddr;
            library.start = start < library.start ? start : library.start;
            library.end =
                start + segment.p_memsz > library.end ? start + segment.p_memsz : library.end;
        }
    }
    if (g_library_count < kMaxLibraries) {
        g_libraries[g_library_count++] = library;
    }
    return 0;
}

Owner owner_of(const void* address) {
    const auto at = reinterpret_cast<uint64_t>(address);
    for (size_t i = 0; i < g_library_count; ++i) {
        if (at >= g_libraries[i].start && at < g_libraries[i].end) {
            return g_libraries[i].owner;
        }
    }
    return Owner::kProgram;  // generated code
}

struct Stack {
    void* frames[kMaxFrames];
    int frame_count = 0;
    Owner owner = Owner::kPassesOn;
};

// Finds the owner of the call. Reads further frames only if they will be shown.
_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* argument) {
    auto& stack = *static_cast<Stack*>(argument);
    void* const address = reinterpret_cast<void*>(_Unwind_GetIP(context));
    stack.frames[stack.frame_count++] = address;
    if (stack.owner == Owner::kPassesOn) {
        stack.owner = owner_of(address);
    }
    return stack.owner == Owner::kProgram || stack.frame_count == kMaxFrames ? _URC_NORMAL_STOP
                                                                             : _URC_NO_REASON;
}

void count(Kind kind) {
    if (!g_counts.load(std::memory_order_relaxed) || g_is_inside) {
        return;
    }
    g_is_inside = true;
    const int error = errno;
    Stack stack;
    _Unwind_Backtrace(visit_frame, &stack);
    g_of_all[kind].fetch_add(1);
    if (stack.owner == Owner::kPeakline) {
        g_of_peakline[kind].fetch_add(1);
        int none = 0;
        if (g_first_count.compare_exchange_strong(none, stack.frame_count)) {
            memcpy(g_first_frames, stack.frames, sizeof stack.frames);
        }
    }
    errno = error;
    g_is_inside = false;
}

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Makes a system call from the one place that the filter lets through.
extern "C" long counter_system_call(long number, const greg_t* arguments);
extern "C" const char counter_after_system_call[];
asm(R"(
    .text
    .globl counter_system_call
    .hidden counter_system_call
    .type counter_system_call, @function
counter_system_call:
    .cfi_startproc
    mov %rdi, %rax
    mov %rsi, %r11
    mov 0(%r11), %rdi
    mov 8(%r11), %rsi
    mov 16(%r11), %rdx
    mov 24(%r11), %r10
    mov 32(%r11), %r8
    mov 40(%r11), %r9
    syscall
    .globl counter_after_system_call
    .hidden counter_after_system_call
counter_after_system_call:
    ret
    .cfi_endproc
)");

// Applies the program's change of its signal mask to the mask that it returns to. Never blocks
// SIGSYS: the kernel would end the program.
long change_mask(ucontext_t* context, const greg_t* arguments) {
    const auto how = static_cast<int>(arguments[0]);
    const auto* wanted = reinterpret_cast<const uint64_t*>(arguments[1]);
    auto* before = reinterpret_cast<uint64_t*>(arguments[2]);
    uint64_t mask = 0;
    memcpy(&mask, &context->uc_sigmask, sizeof mask);
    const uint64_t old = mask;
    if (wanted != nullptr) {
        mask = how == SIG_BLOCK ? mask | *wanted : how == SIG_UNBLOCK ? mask & ~*wanted : *wanted;
        mask &= ~(uint64_t{1} << (SIGSYS - 1));
        memcpy(&context->uc_sigmask, &mask, sizeof mask);
    }
    if (before != nullptr) {
        *before = old;
    }
    return 0;
}

void on_system_call(int, siginfo_t* info, void* argument) {
    auto* context = static_cast<ucontext_t*>(argument);
    greg_t* registers = context->uc_mcontext.gregs;
    const greg_t arguments[] = {registers[REG_RDI],
                                registers[REG_RSI],
                                registers[REG_RDX],
                                registers[REG_R10],
                                registers[REG_R8],
                                registers[REG_R9]};
    count(kSystemCall);
    registers[REG_RAX] = info->si_syscall == SYS_rt_sigprocmask
                             ? change_mask(context, arguments)
                             : counter_system_call(info->si_syscall, arguments);
}

// Every thread's system calls from now on, but for those that may not be made from a handler: the
// return from one, the start of a thread or process, and the end.
bool trap_system_calls() {
    struct sigaction action = {};
    action.sa_sigaction = on_system_call;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGSYS, &action, nullptr);
    const auto allowed = reinterpret_cast<uint64_t>(counter_after_system_call);
    const auto low = static_cast<uint32_t>(allowed);
    const auto high = static_cast<uint32_t>(allowed >> 32U);
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, instruction_pointer)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, instruction_pointer) + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, 10, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 8, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 7, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 6, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter{sizeof program / sizeof program[0], program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

}  // namespace

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

EXPORT void* malloc(size_t size) {
    count(kHeap);
    return __libc_malloc(size);
}
EXPORT void* calloc(size_t number, size_t size) {
    count(kHeap);
    return __libc_calloc(number, size);
}
EXPORT void* realloc(void* old, size_t size) {
    count(kHeap);
    return __libc_realloc(old, size);
}
EXPORT void free(void* old) {
    count(kHeap);
    __libc_free(old);
}
EXPORT void* aligned_alloc(size_t alignment, size_t size) {
    count(kHeap);
    return __libc_memalign(alignment, size);
}
EXPORT int posix_memalign(void** result, size_t alignment, size_t size) {
    count(kHeap);
    *result = __libc_memalign(alignment, size);
    return *result != nullptr ? 0 : ENOMEM;
}
EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) {
    static const auto real = next<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
    count(kLock);
    return real(mutex);
}
EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) {
    static const auto real = next<int (*)(pthread_mutex_t*)>("pthread_mutex_trylock");
    count(kLock);
    return real(mutex);
}
EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
    static const auto real = next<int (*)(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
    count(kLock);
    return real(lock);
}
EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
    static const auto real = next<int (*)(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
    count(kLock);
    return real(lock);
}

// False: the kernel has no filters here. Call when every library is loaded; the first call lasts.
EXPORT bool counter_start() {
    static bool traps = false;
    g_library_count = 0;
    dl_iterate_phdr(add_library, nullptr);
    traps = traps || trap_system_calls();
    for (size_t kind = 0; kind < kKinds; ++kind) {
        g_of_peakline[kind] = 0;
        g_of_all[kind] = 0;
    }
    g_counts = true;
    return traps;
}

// Counts since counter_start: of peakline, then of all; heap calls, locks, system calls each.
EXPORT void counter_stop(uint64_t* counts) {
    g_counts = false;
    for (size_t kind = 0; kind < kKinds; ++kind) {
        counts[kind] = g_of_peakline[kind];
        counts[kKinds + kind] = g_of_all[kind];
    }
}

// The stack of the first call that was peakline's since the last counter_forget_stack.
EXPORT void counter_show_stack() {
    backtrace_symbols_fd(g_first_frames, g_first_count, STDERR_FILENO);
}
EXPORT void counter_forget_stack() {
    g_first_count = 0;
}
