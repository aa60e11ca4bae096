// The companion's functions, and the reads that wait to be told.

#include "model/values/values.h"

#include <atomic>
#include <cstdlib>
#include <mutex>

#include <dlfcn.h>

#include "model/base/log.h"
#include "model/memory/world.h"
#include "model/streams/stream.h"
#include "model/values/contents.h"

namespace simgpu {
namespace {

// relaxed: set once, before the first copy that could be told.
std::atomic<peakline_sim_read_handler> g_read_handler{nullptr};

// relaxed: a function that is there from the start; nothing else is published with it.
std::atomic<peakline_sim_read_listener> g_read_listener{nullptr};

// A copy of several rows is told row by row; more rows than these are told as part of the last.
constexpr int kMaxWaitingReads = 16;
struct GuessedRead {
    unsigned char* host;
    size_t bytes;
};
thread_local GuessedRead t_waiting[kMaxWaitingReads];
thread_local int t_waiting_count = 0;
thread_local bool t_launches_are_told = false;
thread_local bool t_reads_are_guessed = false;

}  // namespace

void load_companion() {
    static std::once_flag once;
    std::call_once(once, [] {
        const char* const path = std::getenv("PEAKLINE_SIM_COMPANION");
        if (path == nullptr || path[0] == '\0') {
            return;
        }
        // A program without torch has no operators to watch, and the library does not load.
        if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == nullptr) {
            log_message(2, "no companion: %s", dlerror());
        }
    });
}

bool launches_are_told() {
    return t_launches_are_told;
}

bool reads_are_guessed() {
    return t_reads_are_guessed;
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

using simgpu::Contents;
using simgpu::World;

SIMGPU_API void peakline_sim_set_read_handler(peakline_sim_read_handler handler) {
    {
        const auto lock = World::instance().lock();
        Contents::instance().trust_uploads();
    }
    simgpu::g_read_handler.store(handler, std::memory_order_relaxed);
}

SIMGPU_API void peakline_sim_set_read_listener(peakline_sim_read_listener listener) {
    simgpu::g_read_listener.store(listener, std::memory_order_relaxed);
}

SIMGPU_API peakline_sim_read_listener peakline_sim_get_read_listener(void) {
    return simgpu::g_read_listener.load(std::memory_order_relaxed);
}

SIMGPU_API void peakline_sim_set_operator(int launches_are_told, int reads_are_guessed) {
    simgpu::t_launches_are_told = launches_are_told != 0;
    simgpu::t_reads_are_guessed = reads_are_guessed != 0;
}

SIMGPU_API int peakline_sim_read_values(const void* device, size_t bytes, void* host) {
    World& world = World::instance();
    const auto lock = world.lock();
    const auto start = reinterpret_cast<uintptr_t>(device);
    if (!world.is_device_address(start) || world.find(start) == nullptr) {
        return -1;
    }
    if (!Contents::instance().operations_into(start, bytes).empty()) {
        return -2;
    }
    const Contents::Known known = Contents::instance().read(host, start, bytes);
    return known.exact_bytes == bytes ? 2 : known.bytes != 0 ? 1 : 0;
}

SIMGPU_API void peakline_sim_write_values(void* device,
                                          size_t bytes,
                                          const void* host,
                                          int is_exact) {
    const auto lock = World::instance().lock();
    Contents::instance().note(reinterpret_cast<uintptr_t>(device), host, bytes, is_exact != 0);
}

SIMGPU_API void peakline_sim_forget_values(void* device, size_t bytes) {
    const auto lock = World::instance().lock();
    Contents::instance().forget(reinterpret_cast<uintptr_t>(device), bytes);
}

SIMGPU_API void peakline_sim_begin_block(void* device, size_t bytes) {
    const auto lock = World::instance().lock();
    Contents::instance().begin_block(reinterpret_cast<uintptr_t>(device), bytes);
}

SIMGPU_API int peakline_sim_is_capturing(void) {
    const auto lock = World::instance().lock();
    return simgpu::Streams::instance().is_capturing() ? 1 : 0;
}

SIMGPU_API int peakline_sim_may_await_others(void) {
    const auto lock = World::instance().lock();
    return Contents::instance().has_promised() ? 1 : 0;
}
