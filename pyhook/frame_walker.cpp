// The frame walk, compiled once per CPython version so that every offset is a constant.
// See Note [Walking without the GIL] in frame_walker.h.
#include "frame_walker.h"

namespace peakline::pyhook {
namespace {

// From 3.12 on a frame with this owner or above stands for C code between Python frames
// (FRAME_OWNED_BY_CSTACK, _INTERPRETER, _THREAD_STATE): it has no line of its own.
constexpr uint8_t kFirstShimOwner = 3;

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

template <const PythonLayout& kLayout>
size_t walk(ThreadStateGetter getter, RawFrame* out, size_t capacity, bool* truncated) {
    *truncated = false;
    const void* thread = getter();
    if (thread == nullptr) {
        return 0;
    }
    const uint64_t first = g_watched_methods.codes[0].load(std::memory_order_relaxed);
    const uint64_t second = g_watched_methods.codes[1].load(std::memory_order_relaxed);
    size_t count = 0;
    for (const void* frame = top_frame<kLayout>(thread); frame != nullptr;
         frame = read_at<const void*>(frame, kLayout.frame_previous)) {
        if (is_shim<kLayout>(frame)) {
            continue;
        }
        if (count >= capacity) {
            *truncated = true;
            break;
        }
        const RawFrame raw = read_frame<kLayout>(frame);
        out[count++] = raw;
        if (__builtin_expect(raw.code == first || raw.code == second, 0)) {
            out[count++] = {kInstanceMark, read_first_local<kLayout>(frame)};
        }
    }
    return count;
}

}  // namespace

constinit WatchedMethods g_watched_methods{kNoMethod, kNoMethod};

Walker walker_for(const PythonLayout& layout) {
    switch (layout.minor) {
        case 10:
            return walk<kLayout310>;
        case 11:
            return walk<kLayout311>;
        case 12:
            return walk<kLayout312>;
        case 13:
            return walk<kLayout313>;
        case 14:
            return walk<kLayout314>;
        default:
            return nullptr;
    }
}

}  // namespace peakline::pyhook
