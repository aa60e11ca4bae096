// The reads that wait to be told, by thread.

#include "model/values/guessed_reads.h"

#include <atomic>

namespace simgpu {
namespace {

// relaxed: set once, before the first copy that could be told.
std::atomic<ReadHandler> g_read_handler{nullptr};

// A copy of several rows is told row by row; more rows than these are told as part of the last.
constexpr int kMaxWaitingReads = 16;
struct GuessedRead {
    unsigned char* host;
    size_t bytes;
};
thread_local GuessedRead t_waiting[kMaxWaitingReads];
thread_local int t_waiting_count = 0;
thread_local RunningOperator t_running;

}  // namespace

void set_read_handler(ReadHandler handler) {
    g_read_handler.store(handler, std::memory_order_relaxed);
}

RunningOperator& running_operator() {
    return t_running;
}

void note_guessed_read(unsigned char* host, size_t bytes) {
    if (g_read_handler.load(std::memory_order_relaxed) != nullptr &&
        t_waiting_count < kMaxWaitingReads) {
        t_waiting[t_waiting_count++] = {host, bytes};
    }
}

void tell_guessed_reads() {
    const auto handler = g_read_handler.load(std::memory_order_relaxed);
    const int count = t_waiting_count;
    t_waiting_count = 0;
    for (int index = 0; index < count && handler != nullptr; ++index) {
        handler(t_waiting[index].host, t_waiting[index].bytes);
    }
}

}  // namespace simgpu
