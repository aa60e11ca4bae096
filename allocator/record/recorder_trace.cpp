// The recorder's slow operations on traces: opening, closing, and the summary in memory.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <sys/random.h>
#include <unistd.h>

#include "recorder.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace peakline::record {
namespace {

using format::MarkKind;
using format::Measure;
using format::SummaryType;

// One line of a summary: equal blocks of one context.
struct Group {
    uint32_t context;
    uint64_t requested_bytes;
    uint64_t block_bytes;
    bool operator<(const Group& other) const {
        if (context != other.context) {
            return context < other.context;
        }
        if (requested_bytes != other.requested_bytes) {
            return requested_bytes < other.requested_bytes;
        }
        return block_bytes < other.block_bytes;
    }
};

void put_groups(TraceWriter& writer, SummaryType type, MappedArray<Group>& groups) {
    std::sort(groups.begin(), groups.end());
    for (size_t i = 0; i < groups.size();) {
        size_t end = i + 1;
        while (end < groups.size() && !(groups[i] < groups[end])) {
            ++end;
        }
        const uint64_t values[] = {
            groups[i].context, groups[i].requested_bytes, groups[i].block_bytes, end - i};
        writer.put_summary(type, values, 4);
        i = end;
    }
}

}  // namespace

format::Superblock Recorder::superblock(const unsigned char* run_uuid) const {
    format::Superblock block{};
    std::memcpy(block.magic, format::kMagic, sizeof block.magic);
    block.major = format::kMajor;
    block.minor = format::kMinor;
    block.endian_mark = format::kEndianMark;
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
    block.start_monotonic_ns = clock_.start_monotonic_ns();
    block.start_realtime_ns = clock_.start_realtime_ns();
    block.header_xxh3 = XXH3_64bits(&block, offsetof(format::Superblock, header_xxh3));
    return block;
}

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
    if (!file_.create(options.path, superblock(options.run_uuid), options.exists)) {
        return file_.error();
    }
    writer_.open(&file_, &table_);
    if (!writer_.is_open()) {
        file_.abandon();
        unlink(options.path);
        return writer_.error();
    }
    had_trace_ = true;
    write_live_set_slow();
    reset_views();
    if (is_tracing()) {
        put_mark(MarkKind::kTracingStarted, 0, 0);
        start_views();
    }
    return 0;
}

// Every live block gets a new ordinal, in the order of the old ones: the file's back references
// count from here. Peaks are reset by the caller, so nobody compares with old ordinals.
void Recorder::write_live_set_slow() {
    MappedArray<LiveBlock> blocks;
    if (!blocks.reserve(live_set_.size() + 1)) {
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
        live->flags = static_cast<uint16_t>(live->flags & ~kTensorKind);  // told anew
        level += block.block_bytes;
        writer_.put_alloc(AllocEvent{block.address,
                                     block.requested_bytes,
                                     block.block_bytes,
                                     block.context,
                                     0,
                                     block.device},
                          tick,
                          level);
        if ((block.flags & kFreeRequested) != 0) {
            const uint64_t back = 1;
            level -= block.block_bytes;
            writer_.put_extended(format::ExtendedType::kFreeDeferred, &back, 1, tick);
        }
    }
}

void Recorder::put_meta(const char* key, const char* value, size_t value_length) {
    const LockGuard guard(lock_);
    writer_.put_meta(key, value, value_length);
}

void Recorder::close_trace() {
    const LockGuard guard(lock_);
    if (writer_.is_open()) {
        put_mark(MarkKind::kProcessEnd, 0, 0);
        writer_.close();
        file_.abandon();
        had_trace_ = false;
    }
}

void Recorder::seal_at_exit() {
    const LockGuard guard(lock_);
    if (writer_.is_open()) {
        put_mark(MarkKind::kProcessEnd, 0, 0);
        writer_.seal();
    }
}

void Recorder::put_view_groups(TraceWriter& writer, uint32_t device, Measure measure) {
    const DeviceState& state = devices_[device];
    const bool allocated = measure == Measure::kAllocated;
    const PeakTracker& view = allocated ? state.allocated : state.requested;
    const uint64_t values[] = {device,
                               static_cast<uint64_t>(measure),
                               view.peak_bytes(),
                               view.peak_tick(),
                               view.level_bytes(),
                               view.total_allocated_bytes(),
                               state.allocs,
                               state.frees};
    writer.put_summary(SummaryType::kView, values, 8);
    const auto counts_now = [&](const LiveBlock& block) {
        return block.device == device && !(allocated && (block.flags & kFreeRequested) != 0);
    };
    MappedArray<Group> groups;
    if (!groups.reserve(live_set_.size() + view.freed_since_peak().size() + 1)) {
        return;
    }
    const auto add = [&](const LiveBlock& block) {
        groups.push(Group{block.context, block.requested_bytes, block.block_bytes});
    };
    live_set_.for_each([&](const LiveBlock& block) {
        if (counts_now(block) && view.was_live_at_peak(block)) {
            add(block);
        }
    });
    for (const LiveBlock& block : view.freed_since_peak()) {
        add(block);
    }
    put_groups(writer, SummaryType::kPeakGroup, groups);
    groups.clear();
    live_set_.for_each([&](const LiveBlock& block) {
        if (counts_now(block)) {
            add(block);
        }
    });
    put_groups(writer, SummaryType::kLiveGroup, groups);
}

bool Recorder::write_summary(MemoryTarget* target) {
    const LockGuard guard(lock_);
    if (!usable_ || !target->create(superblock(nullptr))) {
        return false;
    }
    TraceWriter writer;
    writer.open(target, &table_);
    for (uint32_t device = 0; device < kMaxDevices; ++device) {
        if (devices_[device].used) {
            put_view_groups(writer, device, Measure::kAllocated);
            put_view_groups(writer, device, Measure::kRequested);
        }
    }
    const uint64_t trouble[] = {counters_.records_dropped, counters_.bytes_dropped};
    writer.put_summary(SummaryType::kTrouble, trouble, 2);
    writer.close();
    return writer.error() == 0;
}

}  // namespace peakline::record
