#include "recorder.h"

#include <algorithm>
#include <new>

#include <sys/mman.h>

#include "allocator/record/files/page_guard.h"

namespace peakline::record {
namespace {

using format::ExtendedType;
using format::MarkKind;
using format::Measure;

constexpr size_t kTensorsAtOnce = 256;

}  // namespace

alignas(kStoragePage) unsigned char g_recorder_storage[kStorageBytes];

namespace {

// Before the constructors of other files and libraries that need this one.
[[gnu::constructor(101)]] void construct() {
    new (g_recorder_storage) Recorder;
}

const char* what_stopped(FileTarget::Loss loss) {
    switch (loss) {
        case FileTarget::Loss::kMoved:
            return "the trace was removed, renamed or replaced; recording to it stopped";
        case FileTarget::Loss::kTruncated:
            return "the trace was truncated by another program; recording to it stopped";
        case FileTarget::Loss::kNone:
            break;
    }
    return "the trace file cannot grow; recording to it stopped";
}

}  // namespace

bool Recorder::init(TroubleHandler on_trouble) {
    on_trouble_ = on_trouble;
    if (usable_) {
        return true;
    }
    if (!table_.init() || !live_set_.init()) {
        return false;
    }
    untraced_context_ = table_.intern_context(Context{0, 0, 0, 0, 0, format::kUntraced});
    fetch_ahead();
    clock_.calibrate();
    usable_ = true;
    if (this == &instance()) {
        madvise(g_recorder_storage, kStorageBytes, MADV_WIPEONFORK);
    }
    return true;
}

void Recorder::record_segment(format::SegmentAction action,
                              uint32_t device,
                              uint32_t stream,
                              uint64_t address,
                              uint64_t bytes,
                              uint64_t pool) {
    open_if_waiting();
    const LockGuard guard(lock_);
    if (usable_) {
        const uint64_t tick = clock_.now_tick();
        writer_.put(format::Segment{action, device, stream, address, bytes}, tick);
        put_pool(pool, tick);
        check_writer();
    }
}

void Recorder::record_driver_alloc(const format::DriverAlloc& request) {
    if (format::is_on_device(request.kind) || request.kind == format::DriverKind::kAsync ||
        format::is_page_locked(request.kind)) {
        open_if_waiting();
    }
    record_driver(request);
}

void Recorder::record_out_of_memory(const format::OutOfMemory& request,
                                    const format::Refusal& refusal,
                                    uint64_t pool) {
    open_if_waiting();
    const LockGuard guard(lock_);
    if (usable_) {
        const uint64_t tick = clock_.now_tick();
        if (writer_.is_bounded()) {
            const uint64_t reserved = writer_.reserved_bytes(request.device);
            refusals_.add({tick, request, refusal, pool, 0, reserved, 0}, live_set_);
        }
        writer_.put(request, tick);
        writer_.put(refusal, tick);
        put_pool(pool, tick);
        check_writer();
    }
}

template <class Record>
void Recorder::put_rare(const Record& record) {
    const LockGuard guard(lock_);
    if (usable_) {
        writer_.put(record, clock_.now_tick());
        check_writer();
    }
}

void Recorder::record_allocator_call(const format::AllocatorCall& call) {
    put_rare(call);
}

void Recorder::record_allocator_settings(uint32_t string) {
    put_rare(format::AllocatorSettings{string});
}

void Recorder::record_device_memory(const format::DeviceMemory& memory) {
    put_rare(memory);
}

void Recorder::record_value_read(uint32_t context,
                                 uint64_t bytes,
                                 uint32_t operators,
                                 uint32_t flags) {
    const LockGuard guard(lock_);
    if (usable_) {
        writer_.put(format::ValueRead{context, bytes, operators, flags}, clock_.now_tick());
        check_writer();
    }
}

void Recorder::put_mark(MarkKind kind, uint32_t thread, uint32_t string) {
    writer_.put(format::Mark{kind, thread, string}, clock_.now_tick());
    check_writer();
}

void Recorder::record_mark(MarkKind kind, uint32_t thread, uint32_t string) {
    open_if_waiting();
    const LockGuard guard(lock_);
    if (!usable_) {
        return;
    }
    if (kind == MarkKind::kPhaseBegin) {
        phases_.begin_phase(string);
        update_phases();
    } else if (kind == MarkKind::kPhaseEnd) {
        phases_.end_phase(string);
        update_phases();
    } else if (kind == MarkKind::kStep && writer_.is_bounded() && is_tracing() &&
               steps_.ends_marked_step()) {
        end_step();
    }
    put_mark(kind, thread, string);
}

void Recorder::restate_mark(MarkKind kind, uint32_t thread, uint32_t string) {
    const LockGuard guard(lock_);
    if (usable_) {
        put_mark(kind, thread, string);
    }
}

void Recorder::record_scope(format::ScopeAction action, uint32_t thread, uint32_t string) {
    const LockGuard guard(lock_);
    // What began while tracing ends, whether or not it still goes on.
    if (usable_ && (is_tracing() || action == format::ScopeAction::kEnd)) {
        writer_.put(format::Scope{action, thread, string}, clock_.now_tick());
        check_writer();
    }
}

void Recorder::record_step(StepAction action) {
    const LockGuard guard(lock_);
    if (usable_ && writer_.is_bounded() && is_tracing() &&
        steps_.ends_optimizer_step(action, next_ordinal_)) {
        end_step();
    }
}

void Recorder::end_step() {
    steps_.end_step({clock_.now_tick(), next_ordinal_, live_bytes_, writer_.take_peak_bytes()},
                    live_set_);
}

void Recorder::record_scope_caller(uint32_t context) {
    const LockGuard guard(lock_);
    if (usable_ && is_tracing() && context != 0) {
        writer_.put(format::ScopeCaller{context}, clock_.now_tick());
        check_writer();
    }
}

size_t Recorder::tell_tensors(const ToldTensor* tensors, size_t count) {
    size_t unknown_count = 0;
    for (size_t done = 0; done < count; done += kTensorsAtOnce) {
        const LockGuard guard(lock_);
        unknown_count += tell_some_tensors(tensors + done, std::min(count - done, kTensorsAtOnce));
    }
    return unknown_count;
}

// A block keeps the first name of a kind: tied weights and views of one storage share it.
size_t Recorder::tell_some_tensors(const ToldTensor* tensors, size_t count) {
    if (!usable_ || !writer_.is_open()) {
        return 0;
    }
    TensorBlock told[kTensorsAtOnce];
    size_t told_count = 0;
    size_t unknown_count = 0;
    for (size_t i = 0; i < count; ++i) {
        // Address 0, as tensors without storage have, would find a free slot.
        LiveBlock* const block =
            tensors[i].address == 0 ? nullptr : live_set_.find(tensors[i].address);
        if (block == nullptr) {
            ++unknown_count;
            continue;
        }
        const auto kind = static_cast<unsigned>(tensors[i].kind) << kTensorKindShift;
        if ((block->flags & kTensorKind) != kind) {
            block->flags = static_cast<uint8_t>((block->flags & ~kTensorKind) | kind);
            told[told_count++] =
                TensorBlock{next_ordinal_ - block->ordinal, tensors[i].tensor, tensors[i].type};
        }
    }
    writer_.put_tensor_blocks(told, told_count);
    check_writer();
    return unknown_count;
}

void Recorder::tell_made_tensors(uint64_t first_ordinal, const MadeTensor* tensors, size_t count) {
    for (size_t done = 0; done < count;) {
        const LockGuard guard(lock_);
        if (!usable_ || !writer_.is_open()) {
            return;
        }
        TensorBlock told[kTensorsAtOnce];
        size_t told_count = 0;
        for (const size_t end = std::min(count, done + kTensorsAtOnce); done < end; ++done) {
            const LiveBlock* const block =
                tensors[done].address == 0 ? nullptr : live_set_.find(tensors[done].address);
            if (block != nullptr && block->ordinal >= first_ordinal) {
                told[told_count++] =
                    TensorBlock{next_ordinal_ - block->ordinal, 0, tensors[done].type};
            }
        }
        writer_.put_tensor_blocks(told, told_count);
        check_writer();
    }
}

uint64_t Recorder::block_count() {
    const LockGuard guard(lock_);
    return next_ordinal_;
}

void Recorder::start_tracing() {
    const LockGuard guard(lock_);
    if (!usable_ || is_tracing()) {
        return;
    }
    tracing_.store(true, std::memory_order_relaxed);
    const uint64_t tick = clock_.now_tick();
    start_views(tick);
    put_tracing_started(tick);
}

void Recorder::put_tracing_started(uint64_t tick) {
    writer_.put(format::Mark{MarkKind::kTracingStarted, 0, 0}, tick);
    check_writer();
}

void Recorder::start_views(uint64_t tick) {
    for (DeviceState& state : devices_) {
        if (state.used) {
            state.allocated.start(next_ordinal_ - 1, next_ordinal_ > 0, tick);
            state.requested.start(next_ordinal_ - 1, next_ordinal_ > 0, tick);
        }
    }
    update_phases();
}

void Recorder::stop_tracing() {
    const LockGuard guard(lock_);
    if (!usable_ || !is_tracing()) {
        return;
    }
    tracing_.store(false, std::memory_order_relaxed);
    for (DeviceState& state : devices_) {
        state.allocated.stop();
        state.requested.stop();
    }
    update_phases();
    put_mark(MarkKind::kTracingStopped, 0, 0);
}

void Recorder::reset_peaks() {
    const LockGuard guard(lock_);
    peaks_are_of_trace_ = false;
    reset_views();
    if (is_tracing()) {
        start_views(clock_.now_tick());
    }
}

void Recorder::reset_views() {
    for (DeviceState& state : devices_) {
        state.allocated.reset();
        state.requested.reset();
        state.allocated_groups.reset();
        state.requested_groups.reset();
    }
}

RecorderCounters Recorder::counters() {
    const LockGuard guard(lock_);
    RecorderCounters now = counters_;
    for (const DeviceState& state : devices_) {
        now.allocs += state.allocs;
        now.frees += state.frees;
    }
    now.stack_table_full = table_.full_count();
    now.trace_bytes = writer_.byte_count();
    now.trace_events = writer_.event_count();
    return now;
}

uint64_t Recorder::total_allocated_bytes() {
    const LockGuard guard(lock_);
    uint64_t bytes = 0;
    for (uint32_t device = 0; device < format::kMaxGpus; ++device) {
        bytes += devices_[device].allocated.total_allocated_bytes();
    }
    return bytes;
}

uint64_t Recorder::peak_bytes(uint32_t device, Measure measure) {
    const LockGuard guard(lock_);
    if (device >= format::kDeviceCount) {
        return 0;
    }
    const DeviceState& state = devices_[device];
    return (measure == Measure::kAllocated ? state.allocated : state.requested).peak_bytes();
}

uint64_t Recorder::level_bytes(uint32_t device, Measure measure) {
    const LockGuard guard(lock_);
    if (device >= format::kDeviceCount) {
        return 0;
    }
    const DeviceState& state = devices_[device];
    return (measure == Measure::kAllocated ? state.allocated : state.requested).level_bytes();
}

void Recorder::check_writer_slow() {
    if (had_trace_ && !writer_.is_open()) {
        if (pending_trouble_ == nullptr && writer_.error() != 0 && file_.is_open()) {
            pending_trouble_ = what_stopped(file_.loss());
            pending_error_ = writer_.error();
            has_trouble_.store(true, std::memory_order_relaxed);
            file_.abandon();
        }
        ++counters_.records_dropped;
    } else if (writer_.checkpoint_is_due()) {
        write_checkpoint_slow();
    }
}

void Recorder::report_trouble_slow() {
    const char* trouble = nullptr;
    int error = 0;
    {
        const LockGuard guard(lock_);
        has_trouble_.store(false, std::memory_order_relaxed);
        if (pending_trouble_ == nullptr) {
            return;
        }
        trouble = pending_trouble_;
        error = pending_error_;
        pending_trouble_ = nullptr;
    }
    if (on_trouble_ != nullptr) {
        on_trouble_(trouble, error);
    }
}

// Note [Forks that nobody hears of]
// A child of _Fork(), or of the system call, runs no handlers, and does not have the mapped chunk:
// its first event would end it. So the kernel gives every child zeros for the recorder, which is
// how it stands before init(): not usable, not tracing, its locks free. Older kernels than Linux
// 4.14 do not; there child_after_fork() does what it can.
void Recorder::prepare_fork() {
    opener_lock_.lock();
    lock_.lock();
    table_.prepare_fork();
}
void Recorder::parent_after_fork() {
    table_.parent_after_fork();
    lock_.unlock();
    opener_lock_.unlock();
}
void Recorder::child_after_fork() {
    if (!usable_) {
        page_guard::end_in_child();
        return;
    }
    table_.child_after_fork();
    lock_.reset_after_fork();
    opener_lock_.reset_after_fork();
    opener_.store(nullptr, std::memory_order_relaxed);
    // CUDA does not survive a fork either: the child records nothing, its parent's file is safe.
    usable_ = false;
    tracing_.store(false, std::memory_order_relaxed);
    writer_.abandon();
    file_.leave_to_parent();
    had_trace_ = false;
}

}  // namespace peakline::record
