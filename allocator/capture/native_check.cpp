#include "native_check.h"

#ifdef PEAKLINE_CHECK_NATIVE
#    define UNW_LOCAL_ONLY
#    include <atomic>
#    include <cstdio>

#    include <libunwind.h>

#    include "native_thread.h"

namespace peakline::capture {
namespace {

// relaxed: counts, read when the program ends.
std::atomic<uint64_t> g_checked{0};
std::atomic<uint64_t> g_different{0};
std::atomic<uint64_t> g_memo_hits{0};
std::atomic<uint64_t> g_walks{0};
std::atomic<uint64_t> g_fallbacks{0};

__attribute__((destructor)) void tell() {
    std::fprintf(stderr,
                 "peakline native check: %lu stacks, %lu different; memo %lu, walks %lu, "
                 "libunwind %lu\n",
                 g_checked.load(),
                 g_different.load(),
                 g_memo_hits.load(),
                 g_walks.load(),
                 g_fallbacks.load());
}

void count(NativeCounts& counts) {
    g_memo_hits.fetch_add(counts.memo_hits, std::memory_order_relaxed);
    g_walks.fetch_add(counts.walks, std::memory_order_relaxed);
    g_fallbacks.fetch_add(counts.fallbacks, std::memory_order_relaxed);
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
    g_checked.fetch_add(1, std::memory_order_relaxed);
    if (find(frames, frame_count) != node) {
        g_different.fetch_add(1, std::memory_order_relaxed);
    }
    count(g_native_thread->counts);
}

}  // namespace peakline::capture
#endif
