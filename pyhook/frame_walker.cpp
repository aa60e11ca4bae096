// The frame walk, compiled once per CPython version so that every offset is a constant.
// See Note [Walking without the GIL] in frame_walker.h.
#include "frame_walker.h"

#include "allocator/record/hash_keys.h"

namespace peakline::pyhook {
namespace {

// From 3.12 on a frame with this owner or above stands for C code between Python frames
// (FRAME_OWNED_BY_CSTACK, _INTERPRETER, _THREAD_STATE): it has no line of its own.
constexpr uint8_t kFirstShimOwner = 3;

__extension__ using Uint128 = unsigned __int128;

template <const PythonLayout& kLayout>
const void* top_frame(const void* thread) {
    const void* holder = read_at<const void*>(thread, kLayout.thread_frame);
    if constexpr (kLayout.thread_frame_is_cframe) {
        return holder == nullptr ? nullptr : read_at<const void*>(holder, kLayout.cframe_frame);
    }
    return holder;
}

template <const PythonLayout& kLayout>
RawFrame read_frame(const void* frame) {
    const uint64_t code = read_at<uint64_t>(frame, kLayout.frame_code) & kLayout.code_mask;
    if constexpr (kLayout.position_is_index) {
        const int64_t index = read_at<int32_t>(frame, kLayout.frame_position);
        return {code, static_cast<uint64_t>(index)};
    }
    return {code, read_at<uint64_t>(frame, kLayout.frame_position)};
}

template <const PythonLayout& kLayout>
uint64_t read_first_local(const void* frame) {
    return read_at<uint64_t>(frame, kLayout.frame_locals) & kLayout.code_mask;
}

template <const PythonLayout& kLayout>
bool is_shim(const void* frame) {
    if constexpr (kLayout.frame_owner != 0) {
        return read_at<uint8_t>(frame, kLayout.frame_owner) >= kFirstShimOwner;
    }
    return false;
}

// Not inlined: it would take registers from the loop around it.
[[gnu::noinline]] bool is_watched(uint64_t code) {
    const WatchedMethods& watched = g_watched_methods;
    if (watched.codes[watched_place(code)].load(std::memory_order_relaxed) == code) {
        return true;
    }
    for (size_t i = 0; i < kMaxWatchedMethods; ++i) {
        const uint64_t other = watched.others[i].load(std::memory_order_relaxed);
        if (other == 0 || other == code) {
            return other != 0;
        }
    }
    return false;
}

// Follows the frames of this thread and gives each entry to `sink`, at most `capacity` frames.
// Returns whether there were more.
template <const PythonLayout& kLayout, class Sink>
inline bool follow(ThreadStateGetter getter, size_t capacity, Sink& sink) {
    const void* thread = getter();
    if (thread == nullptr) {
        return false;
    }
    const uint64_t places = g_watched_methods.places.load(std::memory_order_relaxed);
    for (const void* frame = top_frame<kLayout>(thread); frame != nullptr;
         frame = read_at<const void*>(frame, kLayout.frame_previous)) {
        if (is_shim<kLayout>(frame)) {
            continue;
        }
        if (sink.count >= capacity) {
            return true;
        }
        const RawFrame raw = read_frame<kLayout>(frame);
        sink.put(raw);
        const bool may_be_watched = (places >> watched_place(raw.code) & 1U) != 0;
        if (__builtin_expect(may_be_watched, false) && is_watched(raw.code)) {
            sink.put({kInstanceMark, read_first_local<kLayout>(frame)});
        }
    }
    return false;
}

struct Writer {
    RawFrame* out = nullptr;
    size_t count = 0;
    [[gnu::always_inline]] void put(const RawFrame& raw) { out[count++] = raw; }
};

template <const PythonLayout& kLayout>
size_t walk(ThreadStateGetter getter, RawFrame* out, size_t capacity, bool* truncated) {
    Writer writer{out};
    *truncated = follow<kLayout>(getter, capacity, writer);
    return writer.count;
}

static_assert(2 * (kMaxFrames + kWalkSlack) <= record::kHashKeyCount);

// Always inlined, on the unlikely path too: a call there would keep the sum in memory everywhere.
struct Hasher {
    Uint128 sum = 0;
    size_t count = 0;
    [[gnu::always_inline]] void put(const RawFrame& raw) {
        const uint64_t* keys = &record::kHashKeys.keys[2 * count++];
        sum += static_cast<Uint128>(raw.code + keys[0]) * (raw.position + keys[1]);
    }
};

template <const PythonLayout& kLayout>
HashedWalk hash_walk(ThreadStateGetter getter, size_t capacity) {
    Hasher hasher;
    const bool truncated = follow<kLayout>(getter, capacity, hasher);
    return {static_cast<uint64_t>(hasher.sum),
            static_cast<uint64_t>(hasher.sum >> 64),
            static_cast<uint32_t>(hasher.count),
            truncated};
}

template <const PythonLayout& kLayout>
constexpr Walkers kWalkers{walk<kLayout>, hash_walk<kLayout>};

}  // namespace

constinit WatchedMethods g_watched_methods{};

Walkers walkers_for(const PythonLayout& layout) {
    switch (layout.minor) {
        case 10:
            return kWalkers<kLayout310>;
        case 11:
            return kWalkers<kLayout311>;
        case 12:
            return kWalkers<kLayout312>;
        case 13:
            return kWalkers<kLayout313>;
        case 14:
            return kWalkers<kLayout314>;
        default:
            return {};
    }
}

}  // namespace peakline::pyhook
