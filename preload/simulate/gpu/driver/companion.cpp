// Loads the companion, and implements the functions that it calls.

#include "driver/companion.h"

#include <atomic>
#include <cstdlib>
#include <mutex>

#include <dlfcn.h>

#include "model/base/log.h"
#include "model/memory/world.h"
#include "model/ranks/waiting.h"
#include "model/streams/stream.h"
#include "model/values/contents.h"
#include "model/values/guessed_reads.h"

namespace simgpu {

void load_companion() {
    static std::once_flag once;
    std::call_once(once, [] {
        const char* const path = std::getenv("PEAKLINE_SIM_COMPANION");
        if (path == nullptr || path[0] == '\0') {
            return;
        }
        // In a program without torch the library does not load, and there are no operators to
        // watch.
        if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == nullptr) {
            log_message(2, "no companion: %s", dlerror());
        }
    });
}

}  // namespace simgpu

using simgpu::Contents;
using simgpu::World;

namespace {

// relaxed: it points to a function that always exists; nothing else is published with it.
std::atomic<peakline_sim_read_listener> g_read_listener{nullptr};

}  // namespace

SIMGPU_API void peakline_sim_set_read_handler(peakline_sim_read_handler handler) {
    {
        const auto lock = World::instance().lock();
        Contents::instance().trust_uploads();
    }
    simgpu::set_read_handler(handler);
}

SIMGPU_API void peakline_sim_set_read_listener(peakline_sim_read_listener listener) {
    g_read_listener.store(listener, std::memory_order_relaxed);
}

SIMGPU_API peakline_sim_read_listener peakline_sim_get_read_listener(void) {
    return g_read_listener.load(std::memory_order_relaxed);
}

SIMGPU_API void peakline_sim_set_operator(int launches_are_reported, int reads_are_guessed) {
    simgpu::running_operator() = {launches_are_reported != 0, reads_are_guessed != 0};
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

SIMGPU_API void peakline_sim_write_values(void* device, size_t bytes, const void* host, int kind) {
    simgpu::Content content;
    content.is_exact = (kind & 1) != 0;
    content.is_chosen = (kind & 2) != 0;
    const auto lock = World::instance().lock();
    Contents::instance().note_computed(reinterpret_cast<uintptr_t>(device), host, bytes, content);
}

SIMGPU_API void peakline_sim_zero_values(void* device, size_t bytes) {
    const auto lock = World::instance().lock();
    Contents::instance().note_zeros(reinterpret_cast<uintptr_t>(device), bytes);
}

SIMGPU_API void peakline_sim_set_true(void* device, size_t bytes) {
    const auto lock = World::instance().lock();
    Contents::instance().note_true(reinterpret_cast<uintptr_t>(device), bytes);
}

SIMGPU_API int peakline_sim_values_origin(const void* device, size_t bytes) {
    const auto lock = World::instance().lock();
    const Contents::Origin origin =
        Contents::instance().origin(reinterpret_cast<uintptr_t>(device), bytes);
    return (origin.is_chosen ? 2 : 0) + (origin.is_zero ? 4 : 0) + (origin.is_true ? 8 : 0);
}

SIMGPU_API void peakline_sim_keep_large_values(size_t max_bytes) {
    const auto lock = World::instance().lock();
    Contents::instance().keep_large(max_bytes);
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

SIMGPU_API void peakline_sim_await_values(const void* device, size_t bytes) {
    simgpu::Operations operations;
    {
        const auto lock = World::instance().lock();
        operations =
            Contents::instance().operations_into(reinterpret_cast<uintptr_t>(device), bytes);
    }
    simgpu::wait_for(operations);
}

SIMGPU_API int peakline_sim_may_await_others(void) {
    const auto lock = World::instance().lock();
    return Contents::instance().has_promised() ? 1 : 0;
}
