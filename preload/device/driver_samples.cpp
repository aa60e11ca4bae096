#include "driver_samples.h"

#include <algorithm>
#include <atomic>
#include <ctime>

#include "allocator/record/recorder.h"
#include "driver_api.h"
#include "preload/driver/driver_seam.h"
#include "process_bytes.h"

namespace peakline::preload {
namespace {

using format::SampleReason;
using record::Recorder;

// The driver grows its pools in steps of at least this size.
constexpr uint64_t kPoolStepBytes = 1U << 20;
constexpr size_t kMostPools = 64;
// A query takes some microseconds. Where it takes much longer (8 ms in one container), only the
// rare reasons are sampled.
constexpr uint64_t kSlowNs = 200'000;
constexpr uint32_t kTrials = 4;

// relaxed everywhere: two threads that sample at once may write one sample too many.
struct DeviceState {
    std::atomic<uint64_t> free_bytes{~uint64_t{0}};
    std::atomic<uint64_t> total_bytes{0};
    std::atomic<bool> has_graphs{false};
};
DeviceState g_devices[record::kMaxDevices];

// key 0: the slot is free.
struct PoolState {
    std::atomic<uint64_t> key{0};
    std::atomic<uint32_t> device{0};
    std::atomic<uint64_t> reserved_bytes{0};
    std::atomic<uint64_t> used_bytes{0};
    std::atomic<uint64_t> bytes_since{0};
};
PoolState g_pools[kMostPools];
PoolState g_graphs[record::kMaxDevices];  // key: not used

// A context has ended since the last sample.
std::atomic<bool> g_context_ended{false};

std::atomic<uint32_t> g_trials{0};
std::atomic<uint64_t> g_best_ns{~uint64_t{0}};

uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

bool is_slow() {
    return g_trials.load(std::memory_order_relaxed) >= kTrials &&
           g_best_ns.load(std::memory_order_relaxed) > kSlowNs;
}

bool is_rare(SampleReason reason) {
    return reason != SampleReason::kGrowth && reason != SampleReason::kRequest &&
           reason != SampleReason::kFree;
}

std::optional<DeviceBytes> timed_device_bytes() {
    if (g_trials.load(std::memory_order_relaxed) >= kTrials) {
        return device_bytes();
    }
    const uint64_t begin_ns = now_ns();
    const std::optional<DeviceBytes> bytes = device_bytes();
    if (bytes) {
        g_trials.fetch_add(1, std::memory_order_relaxed);
        g_best_ns.store(std::min(g_best_ns.load(std::memory_order_relaxed), now_ns() - begin_ns),
                        std::memory_order_relaxed);
    }
    return bytes;
}

void put_pool(const PoolState& pool, uint64_t key) {
    Recorder::instance().record(
        format::PoolSample{pool.device.load(std::memory_order_relaxed),
                           key,
                           pool.reserved_bytes.load(std::memory_order_relaxed),
                           pool.used_bytes.load(std::memory_order_relaxed)});
}

// Returns true when the pool's bytes have changed.
bool update(PoolState& pool, uint64_t key, std::optional<PoolBytes> bytes) {
    pool.bytes_since.store(0, std::memory_order_relaxed);
    if (!bytes) {
        return false;
    }
    const uint64_t before =
        pool.reserved_bytes.exchange(bytes->reserved_bytes, std::memory_order_relaxed);
    pool.used_bytes.store(bytes->used_bytes, std::memory_order_relaxed);
    if (before == bytes->reserved_bytes) {
        return false;
    }
    put_pool(pool, key);
    return true;
}

void update_pools(uint32_t device) {
    for (PoolState& pool : g_pools) {
        const uint64_t key = pool.key.load(std::memory_order_relaxed);
        if (key != 0 && pool.device.load(std::memory_order_relaxed) == device) {
            update(pool, key, pool_bytes(key));
        }
    }
    if (g_devices[device].has_graphs.load(std::memory_order_relaxed)) {
        update(g_graphs[device], 0, graph_bytes(device));
    }
}

// The slot of this pool, or a free slot for it; nullptr when all are taken.
PoolState* find_pool(uint64_t key, uint32_t device) {
    for (PoolState& pool : g_pools) {
        uint64_t free_slot = 0;
        if (pool.key.load(std::memory_order_relaxed) == key) {
            return &pool;
        }
        if (pool.key.compare_exchange_strong(free_slot, key, std::memory_order_relaxed)) {
            pool.device.store(device, std::memory_order_relaxed);
            pool.reserved_bytes.store(0, std::memory_order_relaxed);
            pool.used_bytes.store(0, std::memory_order_relaxed);
            return &pool;
        }
    }
    return nullptr;
}

void put_sample(SampleReason reason, uint32_t device) {
    const DeviceState& state = g_devices[device];
    Recorder::instance().record(
        format::DriverSample{reason,
                             device,
                             state.free_bytes.load(std::memory_order_relaxed),
                             state.total_bytes.load(std::memory_order_relaxed)});
}

// NVML is queried at most this often. It is loaded only at the end of the process.
constexpr uint64_t kProcessesNs = 1'000'000'000;

bool asks_processes(SampleReason reason) {
    return reason == SampleReason::kContext || reason == SampleReason::kPhase ||
           reason == SampleReason::kEnd;
}

// Call without locks held.
std::optional<ProcessBytes> processes_slow(SampleReason reason, uint32_t device) {
    static std::atomic<uint64_t> next_ns{0};
    const bool is_end = reason == SampleReason::kEnd;
    const uint64_t now = now_ns();
    if (!asks_processes(reason) || (!is_end && now < next_ns.load(std::memory_order_relaxed))) {
        return std::nullopt;
    }
    next_ns.store(now + kProcessesNs, std::memory_order_relaxed);
    return process_bytes_slow(device, is_end ? NvmlUse::kLoad : NvmlUse::kIfLoaded);
}

record::LeafLock g_record_lock;

}  // namespace

record::LeafLock& driver_record_lock() {
    return g_record_lock;
}

void sample_device(SampleReason reason) {
    if (reason == SampleReason::kGrowth && g_context_ended.load(std::memory_order_relaxed)) {
        reason = SampleReason::kContext;
    }
    if (is_slow() && !is_rare(reason)) {
        return;
    }
    const PeaklineDriverCalls calls = peakline_driver_calls();
    const std::optional<uint32_t> device = current_device();
    const bool is_alone = calls.in_flight == (peakline_driver_is_calling() != 0 ? 1U : 0U);
    if (!is_alone || !device || *device >= record::kMaxDevices) {
        return;
    }
    update_pools(*device);
    const std::optional<ProcessBytes> processes = processes_slow(reason, *device);
    const std::optional<DeviceBytes> bytes = timed_device_bytes();
    if (!bytes) {
        return;
    }
    const record::LockGuard guard(driver_record_lock());
    if (peakline_driver_calls().begun != calls.begun) {
        return;
    }
    DeviceState& state = g_devices[*device];
    state.total_bytes.store(bytes->total_bytes, std::memory_order_relaxed);
    const uint64_t before = state.free_bytes.exchange(bytes->free_bytes, std::memory_order_relaxed);
    if (processes) {
        Recorder::instance().record(format::DeviceProcesses{
            *device, processes->own_bytes, processes->other_bytes, processes->other_count});
    }
    g_context_ended.store(false, std::memory_order_relaxed);
    const bool is_new = before != bytes->free_bytes;
    if (is_new || (reason != SampleReason::kGrowth && reason != SampleReason::kPhase)) {
        put_sample(reason, *device);
    }
}

void sample_after_context() {
    g_context_ended.store(true, std::memory_order_relaxed);
    sample_device(SampleReason::kContext);
}

void sample_at_phase_end() {
    constexpr uint64_t kSlowPhaseSampleNs = 100 * kPhaseSampleNs;
    static std::atomic<uint64_t> next_ns{0};
    const uint64_t now = now_ns();
    if (now < next_ns.load(std::memory_order_relaxed)) {
        return;
    }
    next_ns.store(now + (is_slow() ? kSlowPhaseSampleNs : kPhaseSampleNs),
                  std::memory_order_relaxed);
    const CaptureAllowance allowance;
    sample_device(SampleReason::kPhase);
}

void sample_pool(uint64_t key, uint32_t device, uint64_t bytes) {
    PoolState* const pool = device < record::kMaxDevices ? find_pool(key, device) : nullptr;
    if (pool == nullptr ||
        pool->bytes_since.fetch_add(bytes, std::memory_order_relaxed) + bytes < kPoolStepBytes) {
        return;
    }
    if (update(*pool, key, pool_bytes(key))) {
        sample_device(SampleReason::kRequest);
    }
}

void watch_graphs(uint32_t device) {
    if (device < record::kMaxDevices) {
        g_graphs[device].device.store(device, std::memory_order_relaxed);
        g_devices[device].has_graphs.store(true, std::memory_order_relaxed);
    }
}

// The pool's memory has been returned.
void forget_pool(uint64_t key) {
    for (PoolState& pool : g_pools) {
        if (pool.key.load(std::memory_order_relaxed) == key) {
            update(pool, key, PoolBytes{});
            pool.key.store(0, std::memory_order_relaxed);
        }
    }
}

void restate_samples() {
    for (const PoolState& pool : g_pools) {
        if (const uint64_t key = pool.key.load(std::memory_order_relaxed); key != 0) {
            put_pool(pool, key);
        }
    }
    for (uint32_t device = 0; device < record::kMaxDevices; ++device) {
        if (g_devices[device].total_bytes.load(std::memory_order_relaxed) != 0) {
            put_sample(SampleReason::kGrowth, device);
        }
    }
}

}  // namespace peakline::preload
