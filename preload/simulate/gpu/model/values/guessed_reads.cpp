// Reads that wait to be reported, by thread.

#include "model/values/guessed_reads.h"

#include <atomic>

namespace simgpu {
namespace {

// relaxed: set once, before the first copy that could be reported.
std::atomic<ReadHandler> g_read_handler{nullptr};

// A copy of several rows is reported row by row. Rows beyond this count are merged into the last.
constexpr int kMaxWaitingReads = 16;
struct GuessedRead {
    unsigned char* host;
    size_t bytes;
};
thread_local GuessedRead g_waiting[kMaxWaitingReads];
thread_local int g_waiting_count = 0;
thread_local RunningOperator g_running;

}  // namespace

void set_read_handler(ReadHandler handler) {
    g_read_handler.store(handler, std::memory_order_relaxed);
}

RunningOperator& running_operator() {
    return g_running;
}

void note_guessed_read(unsigned char* host, size_t bytes) {
    if (g_read_handler.load(std::memory_order_relaxed) != nullptr &&
        g_waiting_count < kMaxWaitingReads) {
        g_waiting[g_waiting_count++] = {host, bytes};
    }
}

void report_guessed_reads() {
    const auto handler = g_read_handler.load(std::memory_order_relaxed);
    const int count = g_waiting_count;
    g_waiting_count = 0;
    for (int index = 0; index < count && handler != nullptr; ++index) {
        handler(g_waiting[index].host, g_waiting[index].bytes);
    }
}

}  // namespace simgpu
