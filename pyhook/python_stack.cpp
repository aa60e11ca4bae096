#include "python_stack.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>

#include "allocator/capture/stack_capture.h"
#include "allocator/record/format/trace_format.h"
#include "pyhook/code/code_reader.h"
#include "pyhook/code/code_table.h"
#include "pyhook/code/instances.h"
#include "pyhook/frames/thread_scratch.h"
#include "pyhook/frames/walk_gate.h"
#include "pyhook/interpreter/safe_point.h"
#include "python_runtime.h"

namespace peakline::pyhook {
namespace {

constexpr size_t kStackCacheCapacity = size_t{1} << 17;

// Maps a raw stack to its leaf node. Allocated once, never destroyed.
record::RawStackCache* g_stacks = nullptr;

// The code of Module's calls; 0: none. relaxed: as for g_watched_methods.
std::atomic<uint64_t> g_module_call{0};

uint64_t module_call() {
    return g_module_call.load(std::memory_order_relaxed);
}

// Marks this thread as reading Python frames. See Note [End of the interpreter].
class CaptureScope {
public:
    explicit CaptureScope(ThreadScratch& scratch)
        : scratch_(scratch), entered_(load(scratch) == 0) {
        if (entered_) {
            scratch_.is_capturing.store(1, std::memory_order_relaxed);
            // The barrier on all threads replaces a hardware fence; this fence is for the compiler.
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
    }
    ~CaptureScope() {
        if (entered_) {
            // release: the reads of the capture finish before the mark is cleared.
            scratch_.is_capturing.store(0, std::memory_order_release);
        }
    }
    CaptureScope(const CaptureScope&) = delete;
    CaptureScope& operator=(const CaptureScope&) = delete;

    // False inside another capture of this thread, as in a signal handler.
    bool entered() const { return entered_; }

private:
    static uint32_t load(const ThreadScratch& scratch) {
        return scratch.is_capturing.load(std::memory_order_relaxed);
    }

    ThreadScratch& scratch_;
    bool entered_;
};

// Requests names from the program when a stack shows a module for the first time, and its inputs
// when it shows the module's first call.
void ask_for_names() {
    if (g_instances.take_news()) {
        request_safe_point(SafePoint::kNewInstance);
    }
}

// Interns root first, so that stacks share their callers. Returns 0 when a table is full.
uint32_t intern_stack_slow(record::StackTable& table, ThreadScratch& scratch, size_t count) {
    const CodeReader& reader = code_reader();
    uint32_t node = 0;
    uint32_t instance = 0;
    for (size_t i = count; i > 0; --i) {
        const RawFrame& raw = scratch.frames[i - 1];
        if (raw.code == kInstanceMark) {
            // The frame of the method is before its mark.
            const bool is_call = i > 1 && scratch.frames[i - 2].code == module_call();
            instance = g_instances.intern_slow(raw.position, table, is_call);
            continue;
        }
        if (!reader.is_visible(raw)) {
            continue;
        }
        const uint32_t frame =
            g_code_table.intern_frame_slow(reader, raw, instance, table, scratch.text);
        instance = 0;
        node = frame == 0 ? 0 : table.intern_python_node(node, frame);
        if (node == 0) {
            return 0;
        }
    }
    return node;
}

bool has_visible_frame(const ThreadScratch& scratch, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (scratch.frames[i].code != kInstanceMark &&
            code_reader().is_visible(scratch.frames[i])) {
            return true;
        }
    }
    return false;
}

// The low bits of the sum are weak, and the cache uses them, so they are mixed. This loses nothing:
// `low` can be computed back from `high` and the result.
StackKey stack_key(const HashedWalk& walk, uint64_t epoch) {
    const uint64_t high = walk.high ^ (epoch << 32U) ^ walk.frame_count;
    return {record::mix64(walk.low ^ (high << 32U | high >> 32U)), high};
}

// Stores the frames, so that the next capture compares them. The number may have belonged to
// another stack. `epoch`: of the code table before the key was made; later epochs may watch other
// methods.
void keep_frames(
    ThreadScratch& scratch, uint32_t number, const StackKey& key, uint32_t node, uint64_t epoch) {
    KnownStack& known = scratch.known[number];
    if (known.key == key.low) {
        return;
    }
    known.epoch = 0;
    known.key = key.low;
    bool truncated = false;
    const size_t count = walk_frames(scratch.frames, KnownFrames::kMostFrames, &truncated);
    if (count != 0 && !truncated && know_frames(scratch.frames, count, &known.frames)) {
        known.node = node;
        known.epoch = epoch;
    }
}

uint32_t capture_new_slow(record::StackTable& table,
                          ThreadScratch& scratch,
                          const StackKey& key,
                          uint32_t* flags) {
    // The frames are unchanged: this thread runs them.
    bool truncated = false;
    const size_t count = walk_frames(scratch.frames, kMaxFrames, &truncated);
    const uint32_t node = intern_stack_slow(table, scratch, count);
    if (node != 0) {
        g_stacks->insert(key.low, key.high, node);
        ask_for_names();
    } else if (has_visible_frame(scratch, count)) {
        *flags |= format::kStackUnrecorded;
    }
    return node;
}

uint32_t capture(record::StackTable& table,
                 ThreadScratch& scratch,
                 uint32_t* flags,
                 uint32_t* number) {
    const uint64_t epoch = g_code_table.epoch();
    const HashedWalk walk = hash_frames();
    if (walk.frame_count == 0) {
        *number = 0;
        return 0;
    }
    *flags |= walk.truncated ? format::kStackTruncated : 0U;
    const StackKey key = stack_key(walk, epoch);
    const auto low_bits = [](const StackKey& one) { return static_cast<uint32_t>(one.low); };
    uint32_t known = scratch.stacks.find(key, low_bits, number);
    if (known == 0) {
        known = g_stacks->find(key.low, key.high);
        if (known == 0) {
            return capture_new_slow(table, scratch, key, flags);
        }
        scratch.stacks.insert(key, low_bits, known, number);
    }
    keep_frames(scratch, *number, key, known, epoch);
    return known;
}

}  // namespace

bool init_python_stacks() {
    g_stacks = new (std::nothrow) record::RawStackCache;
    return g_stacks != nullptr && g_stacks->init(kStackCacheCapacity) && g_code_table.init() &&
           g_instances.init() && init_thread_scratch();
}

[[gnu::hot]] uint32_t predicted_python_stack(uint32_t number) {
    ThreadScratch* const scratch = g_own_scratch;
    if (scratch == nullptr) {
        return capture::kOtherStack;
    }
    const CaptureScope scope(*scratch);
    if (!scope.entered()) {
        return capture::kOtherStack;
    }
    const KnownStack& known = scratch->known[number];
    const bool is_valid = known.epoch == g_code_table.epoch() || number == 0;
    if (__builtin_expect(is_valid, 1) && __builtin_expect(frames_are(known.frames), 1)) {
        return known.node;
    }
    return capture::kOtherStack;
}

uint32_t capture_python_stack(record::StackTable& table, uint32_t* flags, uint32_t* number) {
    if (!may_walk()) {
        return 0;
    }
    ThreadScratch* const scratch = thread_scratch();
    if (scratch == nullptr) {
        *flags |= format::kStackUnrecorded;
        return 0;
    }
    const CaptureScope scope(*scratch);
    if (!scope.entered()) {
        *flags |= format::kStackUnrecorded;
        return 0;
    }
    return capture(table, *scratch, flags, number);
}

[[gnu::hot]] void fetch_python_stack(uint32_t number) {
    if (number != 0 && g_own_scratch != nullptr) {
        __builtin_prefetch(&g_own_scratch->known[number]);
    }
}

void watch_methods(const uint64_t* codes, size_t count) {
    uint64_t by_slot[kWatchedSlots] = {};
    for (size_t i = 0; i < std::min(count, kMaxWatchedMethods); ++i) {
        unsigned slot = watched_slot(codes[i]);
        while (by_slot[slot] != 0 && by_slot[slot] != codes[i]) {
            slot = (slot + 1) % kWatchedSlots;
        }
        by_slot[slot] = codes[i];
    }
    for (size_t i = 0; i < kWatchedSlots; ++i) {
        g_watched_methods.codes[i].store(by_slot[i], std::memory_order_relaxed);
    }
    g_module_call.store(count == 0 ? 0 : codes[0], std::memory_order_relaxed);
    g_code_table.bump_epoch();  // known stacks have a different key now
}

uint64_t own_instance() {
    ThreadScratch* const scratch = may_walk() ? thread_scratch() : nullptr;
    if (scratch == nullptr) {
        return 0;
    }
    const CaptureScope scope(*scratch);
    bool truncated = false;
    const size_t count = scope.entered() ? walk_frames(scratch->frames, kMaxFrames, &truncated) : 0;
    for (size_t i = 0; i < count; ++i) {
        if (scratch->frames[i].code == kInstanceMark) {
            return scratch->frames[i].position;
        }
    }
    return 0;
}

void forget_python_stacks() {
    g_instances.forget();
    g_code_table.forget();
}

void prepare_fork() {
    g_instances.prepare_fork();
    g_code_table.prepare_fork();
    if (g_stacks != nullptr) {
        g_stacks->prepare_fork();
    }
}

void parent_after_fork() {
    if (g_stacks != nullptr) {
        g_stacks->parent_after_fork();
    }
    g_code_table.parent_after_fork();
    g_instances.parent_after_fork();
}

void child_after_fork() {
    forget_thread_slot();
    if (g_stacks != nullptr) {
        g_stacks->child_after_fork();
    }
    g_code_table.child_after_fork();
    g_instances.child_after_fork();
    forget_safe_points();
    free_scratch_of_lost_threads();
}

}  // namespace peakline::pyhook
