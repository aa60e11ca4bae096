#include "segment_hooks.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "allocator/capture/libraries/got_patch.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/hot_data.h"
#include "allocator/record/recorder.h"

namespace peakline::preload {
namespace {

using record::Recorder;

using MallocFunction = int (*)(void**, size_t);
using FreeFunction = int (*)(void*);
// c10::cuda::current_device()
constexpr char kCurrentDeviceSymbol[] = "_ZN3c104cuda14current_deviceEv";
using CurrentDeviceFunction = int8_t (*)();
using MemoryInfoFunction = int (*)(size_t*, size_t*);
constexpr int kOutOfMemory = 2;  // cudaErrorMemoryAllocation
constexpr char kLibrary[] = "libc10_cuda";

// Set before the imports are redirected.
MallocFunction g_real_malloc = nullptr;
FreeFunction g_real_free = nullptr;
CurrentDeviceFunction g_current_device = nullptr;
MemoryInfoFunction g_memory_info = nullptr;  // nullptr: free memory is not recorded
const torch_part::Part* g_part = nullptr;

// Live segments, for the record of their end. There are few, of some megabytes each, and their
// calls are slow, so a search scans all of them.
struct Segments {
    record::LeafLock lock;
    LiveSegments live;  // Guarded by lock.

    // nullptr if there is none at this address.
    Segment* find(uint64_t address) {
        Segment* const found = std::find_if(live.begin(), live.end(), [&](const Segment& segment) {
            return segment.address == address;
        });
        return found != live.end() ? found : nullptr;
    }
    void remove(Segment* segment) {
        *segment = live[live.size() - 1];
        live.resize_untouched(live.size() - 1);
    }
};
constexpr size_t kMostSegments = size_t{1} << 20;
Segments* g_segments = nullptr;

// relaxed: written and compared under torch's lock of the device, or used as a hint that may be
// wrong.
struct TrackerState {
    std::atomic<bool> is_wanted{false};
    // Same ordering. No block can be freed late before this is set.
    std::atomic<bool> is_there{false};
    std::atomic<uint64_t> reserved_bytes[record::kMaxDevices] = {};
};
[[PEAKLINE_HOT_DATA]] constinit TrackerState g_tracker;

// Handle of the stream of the block for which this thread requests a segment.
uint64_t stream_of_segment() {
    const capture::ThreadState* state = capture::g_thread_state;
    const bool is_for_block = state != nullptr && state->pending.progress != torch_part::kNoAlloc;
    return is_for_block ? state->pending.stream : torch_part::kCurrentStream;
}

void record_segment(format::SegmentAction action, const Segment& segment) {
    Recorder::instance().record_segment(
        action, segment.device, segment.stream, segment.address, segment.bytes, segment.pool);
}

// A program may hit its limit ten thousand times. Equal failures are recorded once, until a segment
// is made or freed. Guarded by torch's lock of the device.
struct LastFailure {
    uint64_t requested_bytes = 0;
    uint64_t free_bytes = 0;

    bool operator==(const LastFailure&) const = default;
};
constinit LastFailure g_last_failures[record::kMaxDevices] = {};
constinit uint64_t g_unmapped_bytes[record::kMaxDevices] = {};  // of pieces; the same lock

// Records the memory of the current device. `extra_free_bytes` is added to the free bytes, to
// describe an earlier moment.
void record_memory(format::MemoryMoment moment,
                   uint32_t device,
                   uint64_t requested_bytes,
                   uint64_t extra_free_bytes) {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (g_memory_info == nullptr || g_memory_info(&free_bytes, &total_bytes) != 0) {
        return;
    }
    if (moment == format::MemoryMoment::kAllocFailed) {
        const LastFailure failure{requested_bytes, free_bytes};
        if (failure == g_last_failures[device]) {
            return;
        }
        g_last_failures[device] = failure;
    }
    Recorder::instance().record(
        format::DeviceMemory{moment, device, requested_bytes, free_bytes + extra_free_bytes});
}

// relaxed: set under torch's lock of the device.
constinit std::atomic<bool> g_first_is_recorded[record::kMaxDevices] = {};

// Call after the record of the segment, which may open the trace.
void record_first_memory(uint32_t device, uint64_t bytes) {
    if (!g_first_is_recorded[device].exchange(true, std::memory_order_relaxed)) {
        record_memory(format::MemoryMoment::kFirstSegment, device, 0, bytes);
    }
}

int malloc_hook(void** address, size_t bytes) {
    const int error = g_real_malloc(address, bytes);
    // Negative without a device.
    const uint32_t device = static_cast<uint8_t>(g_current_device());
    if (device >= record::kMaxDevices) {
        return error;
    }
    if (error != 0) {
        if (error == kOutOfMemory) {
            record_memory(format::MemoryMoment::kAllocFailed, device, bytes, 0);
        }
        return error;
    }
    const uint64_t stream = stream_of_segment();
    const Segment segment{reinterpret_cast<uint64_t>(*address),
                          bytes,
                          stream_of(*g_part, stream, device),
                          device,
                          pool_of(*g_part, stream, device)};
    g_tracker.reserved_bytes[device].fetch_add(bytes, std::memory_order_relaxed);
    g_last_failures[device] = {};
    {
        const record::LockGuard guard(g_segments->lock);
        if (Segment* stale = g_segments->find(segment.address)) {
            g_segments->remove(stale);
        }
        g_segments->live.push(segment);
    }
    record_segment(format::SegmentAction::kAlloc, segment);
    record_first_memory(device, bytes);
    return error;
}

// Records first: another thread may get the address as soon as it is free.
int free_hook(void* address) {
    Segment segment{};
    if (address != nullptr) {
        const record::LockGuard guard(g_segments->lock);
        if (Segment* found = g_segments->find(reinterpret_cast<uint64_t>(address))) {
            segment = *found;
            g_segments->remove(found);
        }
    }
    if (segment.address != 0) {
        g_tracker.reserved_bytes[segment.device].fetch_sub(segment.bytes,
                                                           std::memory_order_relaxed);
        g_last_failures[segment.device] = {};
        record_segment(format::SegmentAction::kFree, segment);
    }
    return g_real_free(address);
}

void want_tracker() {
    // relaxed: the next allocation of any thread acts on it, sooner or later.
    g_tracker.is_wanted.store(!g_tracker.is_there.load(std::memory_order_relaxed),
                              std::memory_order_relaxed);
}

// Looks them up by the handle of libc10_cuda, so that the runtime linked to it answers. Another
// library may interpose that runtime: see redirect().
bool find_real_functions() {
    g_real_malloc =
        reinterpret_cast<MallocFunction>(capture::find_in_loaded("libc10_cuda.so", "cudaMalloc"));
    g_real_free =
        reinterpret_cast<FreeFunction>(capture::find_in_loaded("libc10_cuda.so", "cudaFree"));
    g_current_device = reinterpret_cast<CurrentDeviceFunction>(
        capture::find_in_loaded("libc10_cuda.so", kCurrentDeviceSymbol));
    g_memory_info = reinterpret_cast<MemoryInfoFunction>(
        capture::find_in_loaded("libc10_cuda.so", "cudaMemGetInfo"));
    return g_real_malloc != nullptr && g_real_free != nullptr && g_current_device != nullptr;
}

template <class Function>
bool redirect(const char* symbol, Function hook, Function* real) {
    void* previous = nullptr;
    const int slots =
        capture::redirect_imports(symbol, kLibrary, reinterpret_cast<void*>(hook), &previous);
    if (previous != nullptr) {
        *real = reinterpret_cast<Function>(previous);
    }
    return slots > 0;
}

bool set_up(const torch_part::Part& part) {
    if (g_segments != nullptr) {
        return true;
    }
    alignas(Segments) static unsigned char storage[sizeof(Segments)];
    auto* segments = new (storage) Segments;
    if (!segments->live.reserve(kMostSegments) || !find_real_functions()) {
        return false;
    }
    g_part = &part;
    g_segments = segments;
    return true;
}

}  // namespace

void hook_segment_imports(const torch_part::Part& part) {
    static bool hooked = false;
    if (!set_up(part)) {
        want_tracker();
        return;
    }
    const bool sees_frees = redirect("cudaFree", free_hook, &g_real_free);
    hooked = (redirect("cudaMalloc", malloc_hook, &g_real_malloc) && sees_frees) || hooked;
    if (!hooked) {
        want_tracker();
    }
}

namespace {

uint64_t handle_of(const torch_part::Part& part, uint64_t handle, uint32_t device) {
    if (handle != torch_part::kCurrentStream) {
        return handle;
    }
    return part.current_stream != nullptr ? part.current_stream(static_cast<int>(device)) : 0;
}

}  // namespace

uint32_t stream_of(const torch_part::Part& part, uint64_t handle, uint32_t device) {
    return Recorder::instance().table().intern_stream(handle_of(part, handle, device));
}

uint64_t pool_of(const torch_part::Part& part, uint64_t handle, uint32_t device) {
    return part.pool_of_request == nullptr
               ? 0
               : part.pool_of_request(static_cast<int>(device), handle_of(part, handle, device));
}

void record_mapped_segment(
    uint32_t action, int device, void* stream, uint64_t address, uint64_t bytes) {
    const auto what = static_cast<format::SegmentAction>(action);
    const auto index = static_cast<uint32_t>(device);
    const bool grows = what == format::SegmentAction::kMap || what == format::SegmentAction::kAlloc;
    if (index < record::kMaxDevices) {
        g_tracker.reserved_bytes[index].fetch_add(grows ? bytes : -bytes,
                                                  std::memory_order_relaxed);
        g_last_failures[index] = {};
        g_unmapped_bytes[index] = 0;
    }
    const auto handle = reinterpret_cast<uint64_t>(stream);
    Recorder& recorder = Recorder::instance();
    recorder.record_segment(what,
                            index,
                            recorder.table().intern_stream(handle),
                            address,
                            bytes,
                            grows && g_part != nullptr ? pool_of(*g_part, handle, index) : 0);
    if (grows && index < record::kMaxDevices) {
        record_first_memory(index, bytes);
    }
}

void add_unmapped_piece(uint32_t device, uint64_t bytes) {
    g_unmapped_bytes[device] += bytes;
}

void record_refused_piece(uint32_t device, uint64_t bytes) {
    if (g_current_device != nullptr && static_cast<uint8_t>(g_current_device()) == device) {
        record_memory(format::MemoryMoment::kAllocFailed, device, bytes, g_unmapped_bytes[device]);
    }
    g_unmapped_bytes[device] = 0;
}

void record_memory_at_main_end() {
    if (g_current_device == nullptr || !Recorder::instance().has_trace()) {
        return;
    }
    const uint32_t device = static_cast<uint8_t>(g_current_device());
    if (device < record::kMaxDevices &&
        g_first_is_recorded[device].load(std::memory_order_relaxed)) {
        record_memory(format::MemoryMoment::kMainEnded, device, 0, 0);
    }
}

void copy_segments(LiveSegments* segments) {
    if (g_segments == nullptr || !segments->reserve(kMostSegments)) {
        return;
    }
    const record::LockGuard guard(g_segments->lock);
    for (const Segment& segment : g_segments->live) {
        segments->push(segment);
    }
}

void record_segments(const LiveSegments& segments) {
    for (const Segment& segment : segments) {
        record_segment(format::SegmentAction::kAlloc, segment);
    }
}

void adopt_segments(const LiveSegments& segments) {
    if (g_segments == nullptr) {
        return;
    }
    const record::LockGuard guard(g_segments->lock);
    for (const Segment& segment : segments) {
        if (g_segments->find(segment.address) == nullptr) {
            g_segments->live.push(segment);
        }
    }
    uint64_t sums[record::kMaxDevices] = {};
    for (const Segment& segment : g_segments->live) {
        sums[segment.device] += segment.bytes;
    }
    for (uint32_t device = 0; device < record::kMaxDevices; ++device) {
        g_tracker.reserved_bytes[device].store(sums[device], std::memory_order_relaxed);
    }
}

void adopt_mapped_bytes(uint32_t device, uint64_t bytes) {
    if (device < record::kMaxDevices) {
        g_tracker.reserved_bytes[device].fetch_add(bytes, std::memory_order_relaxed);
    }
}

void check_reserved(uint32_t device, uint64_t reserved_bytes) {
    if (__builtin_expect(device < record::kMaxDevices, 1) &&
        __builtin_expect(
            g_tracker.reserved_bytes[device].load(std::memory_order_relaxed) != reserved_bytes,
            0)) {
        g_tracker.reserved_bytes[device].store(reserved_bytes, std::memory_order_relaxed);
        want_tracker();
    }
}

bool wants_tracker() {
    return __builtin_expect(g_tracker.is_wanted.load(std::memory_order_relaxed), 0);
}

void tracker_is_attached() {
    g_tracker.is_there.store(true, std::memory_order_relaxed);
    g_tracker.is_wanted.store(false, std::memory_order_relaxed);
}

bool has_tracker() {
    return g_tracker.is_there.load(std::memory_order_relaxed);
}

void prepare_fork_segments() {
    if (g_segments != nullptr) {
        g_segments->lock.lock();
    }
}
void parent_after_fork_segments() {
    if (g_segments != nullptr) {
        g_segments->lock.unlock();
    }
}
void child_after_fork_segments() {
    if (g_segments != nullptr) {
        g_segments->lock.reset_after_fork();
    }
}

}  // namespace peakline::preload
