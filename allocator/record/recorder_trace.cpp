// Opens a trace, writes its checkpoints, closes it; writes summaries without a file.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>

#include <sys/random.h>
#include <unistd.h>

#include "recorder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace peakline::record {
namespace {

using format::MarkKind;

format::Superblock superblock(const TickClock& clock, const unsigned char* run_uuid, Keep keep) {
    format::Superblock block{};
    std::memcpy(block.magic, format::kMagic, sizeof block.magic);
    block.major = format::kMajor;
    block.minor = format::kMinor;
    block.endian_mark = format::kEndianMark;
    block.incompat_flags = keep.kind != Keep::Kind::kAll ? format::kChunksRecycled : 0;
    block.chunk_bytes = format::kChunkBytes;
    block.tick_ns = format::kTickNs;
    if (getrandom(block.file_uuid, sizeof block.file_uuid, GRND_NONBLOCK) < 0) {
        std::memcpy(block.file_uuid, &block.start_realtime_ns, sizeof block.start_realtime_ns);
    }
    if (run_uuid != nullptr) {
        std::memcpy(block.run_uuid, run_uuid, sizeof block.run_uuid);
    }
    block.pid = static_cast<uint32_t>(getpid());
    block.parent_pid = static_cast<uint32_t>(getppid());
    block.start_monotonic_ns = clock.start_monotonic_ns();
    block.start_realtime_ns = clock.start_realtime_ns();
    block.header_xxh3 = XXH3_64bits(&block, offsetof(format::Superblock, header_xxh3));
    return block;
}

}  // namespace

void Recorder::open_waiting_slow() {
    const LockGuard guard(opener_lock_);
    const Opener opener = opener_.load(std::memory_order_acquire);
    if (opener != nullptr) {
        opener();
        opener_.store(nullptr, std::memory_order_release);
    }
}

int Recorder::open_trace(const TraceOptions& options) {
    const LockGuard guard(lock_);
    if (!usable_) {
        return EINVAL;
    }
    if (writer_.is_open()) {
        return EBUSY;
    }
    file_.abandon();
    if (!file_.create(options.path,
                      superblock(clock_, options.run_uuid, options.keep),
                      options.exists,
                      options.mode)) {
        return file_.error();
    }
    writer_.open(&file_, &table_, options.keep);
    if (!writer_.is_open()) {
        file_.abandon();
        unlink(options.path);
        return writer_.error();
    }
    had_trace_ = true;
    std::fill(std::begin(untaken_peaks_), std::end(untaken_peaks_), 0);
    holder_searches_ = holder_count_ = 0;
    predictor_.forget();
    reset_views();
    phases_.reset(options.keep.kind != Keep::Kind::kAll);
    refusals_.begin_trace();
    if (options.keep.kind != Keep::Kind::kAll && !steps_.begin_trace()) {
        writer_.abandon();
        file_.abandon();
        unlink(options.path);
        return ENOMEM;
    }
    if (options.keep.kind == Keep::Kind::kAll) {
        begin_end_views();
        write_live_set_slow();
    }
    const uint64_t tick = clock_.now_tick();
    if (is_tracing() && options.keep.kind == Keep::Kind::kAll) {
        put_tracing_started(tick);
    }
    if (is_tracing()) {
        start_views(tick);
    }
    if (options.keep.kind != Keep::Kind::kAll) {
        write_checkpoint_slow();
    }
    return 0;
}

// Every live block gets a new ordinal, in the order of the old ones: the file's back references
// count from here. The caller resets peaks, so no code compares with old ordinals.
void Recorder::write_live_set_slow() {
    MappedArray<LiveBlock> blocks;
    if (!blocks.reserve(live_set_.size() + 1)) {
        writer_.give_up_totals();
        return;
    }
    live_set_.for_each([&](const LiveBlock& block) { blocks.push(block); });
    std::sort(blocks.begin(), blocks.end(), [](const LiveBlock& a, const LiveBlock& b) {
        return a.ordinal < b.ordinal;
    });
    const uint64_t tick = clock_.now_tick();
    uint64_t level = 0;
    for (const LiveBlock& block : blocks) {
        LiveBlock* const live = live_set_.find(block.address);
        live->ordinal = next_ordinal_++;
        live->flags = static_cast<uint8_t>(live->flags & ~(kTensorKind | kSaved));  // reported anew
        level += gpu_bytes_of(block);
        writer_.put_alloc(AllocEvent{block.address,
                                     block.requested_bytes,
                                     block.block_bytes,
                                     block.context,
                                     block.stream,
                                     block.device},
                          tick,
                          level);
        if ((block.flags & kFreeRequested) != 0) {
            level -= gpu_bytes_of(block);
            writer_.put_free(FreeEvent{1, 0, FreeEvent::Kind::kDeferred}, tick, level);
        }
    }
}

// The peaks at the end of the trace cover only its own events.
void Recorder::begin_end_views() {
    peaks_are_of_trace_ = true;
    for (DeviceLevels& device : devices_) {
        device.allocs_before_trace = device.allocs;
        device.end_allocated_bytes = device.end_requested_bytes = 0;
    }
    // Live blocks are written again as the first allocations of the file.
    live_set_.for_each(
        [this](const LiveBlock& block) { --devices_[block.device].allocs_before_trace; });
}

void Recorder::write_checkpoint_slow() {
    if (steps_.ends_part() && is_tracing()) {
        end_step();
    }
    writer_.begin_checkpoint({next_ordinal_, clock_.now_tick(), is_tracing()});
    SummaryWriter(counted(), writer_).put_checkpoint();
    writer_.end_checkpoint();
}

bool Recorder::write_summary(MemoryTarget* target, const char* simulated) {
    const LockGuard guard(lock_);
    if (!usable_ || !target->create(superblock(clock_, nullptr, Keep{}))) {
        return false;
    }
    TraceWriter writer;
    writer.open(target, &table_);
    if (simulated[0] != '\0') {
        writer.put_meta("simulated", simulated, std::strlen(simulated));
    }
    SummaryWriter(counted(), writer).put_views();
    writer.close();
    return writer.error() == 0;
}

Counted Recorder::counted() {
    return {live_set_,
            devices_,
            phases_,
            steps_,
            refusals_,
            next_ordinal_,
            counters_.records_dropped,
            counters_.bytes_dropped};
}

void Recorder::put_meta(const char* key, const char* value, size_t value_length) {
    const LockGuard guard(lock_);
    writer_.put_meta(key, value, value_length);
}

FileTarget::Loss Recorder::trace_loss() {
    const LockGuard guard(lock_);
    return writer_.is_open() ? file_.loss() : FileTarget::Loss::kNone;
}

void Recorder::close_trace() {
    {
        const LockGuard guard(lock_);
        if (writer_.is_open()) {
            check_writer();  // a checkpoint after the mark would take its place as the last event
            writer_.put(format::Mark{MarkKind::kProcessEnd, 0, 0}, clock_.now_tick());
            if (writer_.put_totals() && peaks_are_of_trace_) {
                SummaryWriter(counted(), writer_).put_end_views();
            }
            writer_.close();
            file_.abandon();
            had_trace_ = false;
        }
    }
    report_trouble_unlocked();  // no block may have been made since
}

// Does not open a trace that waits for its first block: it would be empty.
void Recorder::record_main_end() {
    const LockGuard guard(lock_);
    if (!writer_.is_open()) {
        return;
    }
    if (writer_.main_end_tick() == 0) {
        for (DeviceLevels& device : devices_) {
            device.end_allocated_bytes = device.allocated.level_bytes();
            device.end_requested_bytes = device.requested.level_bytes();
        }
    }
    put(format::Mark{MarkKind::kMainEnd, 0, 0});
}

// Tries the locks that the calls at the end take, in the same order. Another thread may take one
// again afterwards, but releases it.
bool Recorder::may_end() {
    if (!lock_.lock_patiently()) {
        return false;
    }
    const bool may_define = table_.may_lock();
    lock_.unlock();
    return may_define;
}

}  // namespace peakline::record
