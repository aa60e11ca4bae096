#include "native_check.h"

#ifdef PEAKLINE_CHECK_NATIVE
#    define UNW_LOCAL_ONLY
#    include <atomic>
#    include <cstdio>
#    include <cstdlib>

#    include <fcntl.h>
#    include <libunwind.h>
#    include <pthread.h>
#    include <sys/mman.h>
#    include <unistd.h>

#    include "allocator/capture/native_thread.h"

namespace peakline::capture {
namespace {

// A file that a test reads: it also has the counts of a process that was killed or left by _exit.
// All accesses are relaxed: the counts are read when the program has ended.
struct Counts {
    std::atomic<uint64_t> checked;
    std::atomic<uint64_t> different;
    std::atomic<uint64_t> memo_hits;
    std::atomic<uint64_t> walks;
    std::atomic<uint64_t> fallbacks;
    std::atomic<uint64_t> threads;
};

Counts* g_counts = nullptr;
pthread_once_t g_counts_once = PTHREAD_ONCE_INIT;
thread_local bool t_is_counted = false;

// Opens $PEAKLINE_NATIVE_CHECK/PID. A check without a readable result is useless, so without the
// file the process ends.
void open_counts() {
    char path[4096];
    const char* const folder = getenv("PEAKLINE_NATIVE_CHECK");
    snprintf(path, sizeof path, "%s/%d", folder != nullptr ? folder : ".", getpid());
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0 || ftruncate(file, sizeof(Counts)) != 0) {
        perror(path);
        abort();
    }
    void* const memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) {
        perror(path);
        abort();
    }
    g_counts = static_cast<Counts*>(memory);
}

void count(NativeCounts& counts, bool is_different) {
    pthread_once(&g_counts_once, open_counts);
    g_counts->checked.fetch_add(1, std::memory_order_relaxed);
    g_counts->different.fetch_add(is_different ? 1 : 0, std::memory_order_relaxed);
    g_counts->memo_hits.fetch_add(counts.memo_hits, std::memory_order_relaxed);
    g_counts->walks.fetch_add(counts.walks, std::memory_order_relaxed);
    g_counts->fallbacks.fetch_add(counts.fallbacks, std::memory_order_relaxed);
    g_counts->threads.fetch_add(t_is_counted ? 0 : 1, std::memory_order_relaxed);
    t_is_counted = true;
    counts = NativeCounts{};
}

}  // namespace

void check_native_stack(const Registers& start, uint32_t node, FindStack find) {
    void* frames[kMaxNativeFrames];
    size_t frame_count = 0;
    unw_context_t context;
    unw_cursor_t cursor;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    bool is_inside = false;
    while (frame_count < kMaxNativeFrames && unw_step(&cursor) > 0) {
        unw_word_t address = 0;
        unw_word_t rsp = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &address);
        unw_get_reg(&cursor, UNW_REG_SP, &rsp);
        is_inside = is_inside || rsp == start.cfa;
        if (is_inside) {
            frames[frame_count++] = reinterpret_cast<void*>(address);
        }
    }
    count(g_native_thread->counts, find(frames, frame_count) != node);
}

}  // namespace peakline::capture
#endif
