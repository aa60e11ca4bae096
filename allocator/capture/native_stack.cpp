#include "native_stack.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#define XXH_INLINE_ALL
#include <algorithm>
#include <atomic>

#include <xxhash.h>

#include "allocator/capture/libraries/loader_counts.h"
#include "allocator/capture/libraries/module_map.h"
#include "allocator/capture/native_check.h"
#include "allocator/capture/unwind/libunwind_calls.h"
#include "allocator/record/hot_data.h"

namespace peakline::capture {
namespace {

// false: libunwind walks every stack.
#ifdef PEAKLINE_NATIVE_REFERENCE
constexpr bool kWalksByRules = false;
#else
constexpr bool kWalksByRules = true;
#endif
constexpr size_t kCacheCapacity = size_t{1} << 16;
constexpr int kMaxAttempts = 3;
// All allocations share the same few innermost frames. This many frames out they differ, which
// spreads stacks that begin at one address over more entries than one set of the memo has.
constexpr int kHintFrames = 6;

[[PEAKLINE_HOT_DATA]] record::RawStackCache* g_cache = nullptr;

struct Hash {
    uint64_t low;
    uint64_t high;
};

// Includes the epoch: the same addresses may be in another library later.
Hash hash_frames(void* const* frames, size_t count, uint64_t epoch) {
    const XXH128_hash_t hash = XXH3_128bits(frames, count * sizeof frames[0]);
    return {hash.low64 ^ record::mix64(epoch), hash.high64};
}

// Root first, so that every parent exists before its child. `frames` is leaf first.
uint32_t intern_stack_slow(record::StackTable& table, void* const* frames, size_t count) {
    ModuleHit hits[kMaxNativeFrames];
    find_modules_slow(table, frames, count, hits);
    uint32_t node = 0;
    for (size_t i = count; i-- > 0;) {
        const auto address = reinterpret_cast<uint64_t>(frames[i]);
        const uint32_t frame =
            table.intern_native_frame(hits[i].module, address - hits[i].load_bias);
        node = table.intern_native_node(node, frame);
        if (node == 0) {
            return 0;
        }
    }
    return node;
}

struct Frames {
    size_t count;
    WalkResult result;
};

// libunwind's frames without our own, which end at the return address of `start`.
Frames walk_by_libunwind(const Registers& start, NativeThread& thread, void** frames) {
    constexpr size_t kRoom = kMaxNativeFrames + kOwnFramesRoom;
    const int found = unw_backtrace(thread.fallback_frames, static_cast<int>(kRoom));
    ++thread.counts.fallbacks;
    void** end = thread.fallback_frames + (found > 0 ? found : 0);
    void** own_end =
        thread.fallback_frames + std::min(kOwnFramesRoom, static_cast<size_t>(std::max(found, 0)));
    void** first =
        std::find(thread.fallback_frames, own_end, reinterpret_cast<void*>(start.return_address));
    if (first == own_end) {
        first = thread.fallback_frames;
    }
    const auto count = std::min(static_cast<size_t>(end - first), kMaxNativeFrames);
    std::copy(first, first + count, frames);
    const bool is_cut = count == kMaxNativeFrames && first + count < end;
    return {count, is_cut ? WalkResult::kTruncated : WalkResult::kComplete};
}

// A library was added, or it is not known whether.
[[gnu::noinline]] void ask_loader_if_due_slow(NativeThread& thread) {
    const uint64_t added = libraries_added();
    thread.libraries_added = added != kUnknownLibraries ? added : kNeverAsked;
    if (added == kUnknownLibraries && --thread.captures_to_loader_check != 0) {
        return;
    }
    thread.captures_to_loader_check = kCapturesPerLoaderCheck;
    refresh_code_epoch_slow();
}

// Marks the thread as inside a capture, for signal handlers that capture.
class CaptureScope {
public:
    explicit CaptureScope(NativeThread& thread) : thread_(thread) {
        thread_.is_capturing = true;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~CaptureScope() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        thread_.is_capturing = false;
    }
    CaptureScope(const CaptureScope&) = delete;
    CaptureScope& operator=(const CaptureScope&) = delete;

private:
    NativeThread& thread_;
};

// The node of an entry of the thread's memo if that is the stack from `start`; else 0.
uint32_t predicted_stack(const Registers& start, NativeThread& thread, uint32_t number) {
    if (!kWalksByRules || !thread.has_memo || thread.is_capturing || !thread.bounds.has(start) ||
        libraries_added() != thread.libraries_added) [[unlikely]] {
        return 0;
    }
    const CaptureScope scope(thread);
    const uint32_t node = thread.memo.find_predicted(start, code_epoch(), number);
    if (node != 0) [[likely]] {
        ++thread.counts.memo_hits;
    }
    return node;
}

class Capture {
public:
    // NOLINTNEXTLINE(readability-function-size): every part needs these.
    Capture(const Registers& start,
            record::StackTable& table,
            NativeThread& thread,
            void** frames,
            uint32_t* number)
        : start_(start), table_(table), thread_(thread), frames_(frames), number_(number) {}

    uint32_t node(uint32_t* flags) {
        if (libraries_added() != thread_.libraries_added) {
            ask_loader_if_due_slow(thread_);
        }
        for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
            epoch_ = code_epoch();
            if (const uint32_t known = find_in_memo(); known != 0) {
                return known;
            }
            // See Note [Code that changes] in unwind_rules.h. The memo's hashes stay valid: they
            // only choose a set.
            if (!are_libraries_removed(epoch_)) {
                epoch_ = refresh_code_epoch_slow();
            }
            const Frames walked = walk();
            if (walked.result != WalkResult::kCodeChanged) {
                if (const uint32_t node = find_or_intern(walked, flags); node != 0) {
                    return node;
                }
                break;
            }
        }
        *flags |= format::kStackUnrecorded;
        return 0;
    }

private:
    bool may_walk_by_rules() const { return kWalksByRules && thread_.bounds.has(start_); }

    uint32_t find_in_memo() {
        if (!may_walk_by_rules() || !thread_.has_memo) {
            return 0;
        }
        *number_ = 0;
        const uint32_t node = search_memo();
        thread_.counts.memo_hits += node != 0 ? 1 : 0;
        return node;
    }

    uint32_t search_memo() {
        near_hash_ = StackMemo::hash(start_, 0);
        if (const uint32_t node = thread_.memo.find(start_, near_hash_, epoch_, number_);
            node != 0) {
            return node;
        }
        Registers at = start_;
        for (int i = 0; i < kHintFrames; ++i) {
            if (step_to_caller(at, thread_.bounds, epoch_) != StepResult::kCaller) {
                break;
            }
        }
        far_hash_ = StackMemo::hash(start_, at.return_address);
        return thread_.memo.find(start_, far_hash_, epoch_, number_);
    }

    Frames walk() {
        by_rules_ = false;
        if (may_walk_by_rules()) {
            const WalkResult result =
                walk_stack(start_, thread_.bounds, epoch_, frames_, thread_.walk);
            if (result != WalkResult::kUnknown) {
                by_rules_ = true;
                ++thread_.counts.walks;
                return {thread_.walk.frame_count, result};
            }
        }
        return walk_by_libunwind(start_, thread_, frames_);
    }

    // 0: no room.
    uint32_t find_or_intern(const Frames& walked, uint32_t* flags) {
        const Hash hash = hash_frames(frames_, walked.count, epoch_);
        uint32_t node = g_cache->find(hash.low, hash.high);
        if (node == 0) {
            node = intern_stack_slow(table_, frames_, walked.count);
            if (node == 0) {
                return 0;
            }
            g_cache->insert(hash.low, hash.high, node);
        }
        if (walked.result == WalkResult::kTruncated) {
            *flags |= format::kStackTruncated;
        } else if (by_rules_ && thread_.has_memo) {
            keep_in_memo(node);
        }
        return node;
    }

    void keep_in_memo(uint32_t node) {
        StackMemo& memo = thread_.memo;
        const Walk& walk = thread_.walk;
        *number_ = memo.keep(start_, near_hash_, epoch_, walk, node, StackMemo::Keep::kIfRoom);
        if (*number_ == 0) {
            *number_ = memo.keep(start_, far_hash_, epoch_, walk, node);
        }
    }

    const Registers& start_;
    record::StackTable& table_;
    NativeThread& thread_;
    void** frames_;
    uint32_t* number_;
    uint64_t epoch_ = 0;
    uint64_t near_hash_ = 0;
    uint64_t far_hash_ = 0;
    bool by_rules_ = false;
};

void check_stack(const Registers& start, uint32_t node) {
    check_native_stack(start, node, [](void* const* frames, size_t count) {
        const Hash hash = hash_frames(frames, count, code_epoch());
        return g_cache->find(hash.low, hash.high);
    });
}

// Not inlined: the frames from here on are not part of the stack.
[[gnu::noinline]] uint32_t capture_from(const Registers start,
                                        record::StackTable& table,
                                        ThreadState& state,
                                        uint32_t* flags,
                                        uint32_t* number) {
    NativeThread* thread = native_thread();
    if (thread == nullptr || thread->is_capturing) {
        *flags |= format::kStackUnrecorded;
        return 0;
    }
    const CaptureScope scope(*thread);
    const uint32_t node = Capture(start, table, *thread, state.native_frames, number).node(flags);
    check_stack(start, node);
    return node;
}

}  // namespace

bool init_native_stacks() {
    if (g_cache != nullptr) {
        return true;
    }
    alignas(record::RawStackCache) static unsigned char storage[sizeof(record::RawStackCache)];
    auto* cache = new (storage) record::RawStackCache;
    if (!cache->init(kCacheCapacity)) {
        return false;
    }
    lead_libunwind_calls();
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
    find_loader_words_slow();
    refresh_code_epoch_slow();
    g_cache = cache;
    return true;
}

// __builtin_frame_address makes the compiler keep rbp here: the psABI's frame is caller's rbp,
// return address, and behind them the caller's rsp after the return.
[[gnu::noinline, gnu::hot]] uint32_t capture_native_stack(record::StackTable& table,
                                                          ThreadState& state,
                                                          uint32_t* flags,
                                                          uint32_t* number) {
    if (g_cache == nullptr) {
        return 0;
    }
    const auto* frame = static_cast<const uint64_t*>(__builtin_frame_address(0));
    const Registers start{frame[1], reinterpret_cast<uint64_t>(frame + 2), frame[0]};
    NativeThread* const thread = g_native_thread;
    const uint32_t predicted = thread != nullptr ? predicted_stack(start, *thread, *number) : 0;
    if (__builtin_expect(predicted != 0, 1)) {
        check_stack(start, predicted);
        return predicted;
    }
    return capture_from(start, table, state, flags, number);
}

}  // namespace peakline::capture
