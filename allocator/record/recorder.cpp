#include "recorder.h"

#include <algorithm>
#include <new>
#include <utility>

#include <sys/mman.h>

#include "allocator/record/files/page_guard.h"

namespace peakline::record {
namespace {

using format::MarkKind;
using format::Measure;

}  // namespace

alignas(kStoragePage) unsigned char g_recorder_storage[kStorageBytes];

namespace {

// Runs before the constructors of other files and libraries that need this one.
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
    for (DeviceLevels& device : devices_) {
        device.start(next_ordinal_, tick);
    }
    update_phases();
}

void Recorder::update_phases() {
    PhasePeaks::DeviceLevel levels[format::kDeviceCount];
    uint32_t count = 0;
    for (uint32_t device = 0; device < format::kDeviceCount; ++device) {
        const DeviceLevels& of_device = devices_[device];
        if (of_device.used) {
            levels[count++] = PhasePeaks::DeviceLevel{
                device, of_device.allocated.level_bytes(), of_device.requested.level_bytes()};
        }
    }
    phases_.update(
        {levels, count, next_ordinal_ - 1, clock_.now_tick(), next_ordinal_ > 0, is_tracing()},
        live_set_);
    writer_.let_repeat(is_tracing() && !phases_.is_active());
}

void Recorder::stop_tracing() {
    const LockGuard guard(lock_);
    if (!usable_ || !is_tracing()) {
        return;
    }
    tracing_.store(false, std::memory_order_relaxed);
    for (DeviceLevels& device : devices_) {
        device.stop();
    }
    update_phases();
    put(format::Mark{MarkKind::kTracingStopped, 0, 0});
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
    for (DeviceLevels& device : devices_) {
        device.reset();
    }
}

RecorderCounters Recorder::counters() {
    const LockGuard guard(lock_);
    RecorderCounters now = counters_;
    for (const DeviceLevels& device : devices_) {
        now.allocs += device.allocs;
        now.frees += device.frees;
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
    return device < format::kDeviceCount ? devices_[device].tracker(measure).peak_bytes() : 0;
}

uint64_t Recorder::level_bytes(uint32_t device, Measure measure) {
    const LockGuard guard(lock_);
    return device < format::kDeviceCount ? devices_[device].tracker(measure).level_bytes() : 0;
}

uint64_t Recorder::take_peak_bytes(PeakReader reader) {
    const LockGuard guard(lock_);
    return writer_.is_open() ? take_peak_bytes_locked(reader) : 0;
}

uint64_t Recorder::take_peak_bytes_locked(PeakReader reader) {
    const uint64_t peak_bytes = writer_.take_peak_bytes();
    for (uint64_t& untaken : untaken_peaks_) {
        untaken = std::max(untaken, peak_bytes);
    }
    return std::exchange(untaken_peaks_[static_cast<size_t>(reader)], 0);
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
// A child of _Fork(), or of the system call, runs no handlers and lacks the mapped chunk: its first
// event would end it. So the kernel gives every child zeros for the recorder, its state before
// init(): not usable, not tracing, locks free. Kernels before Linux 4.14 cannot do this; there
// child_after_fork() resets as much as it can.
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
    // CUDA does not survive a fork either: the child records nothing, and its parent's file is
    // safe.
    usable_ = false;
    tracing_.store(false, std::memory_order_relaxed);
    writer_.abandon();
    file_.leave_to_parent();
    had_trace_ = false;
}

}  // namespace peakline::record
