// Reads one Python frame, for every layout, with constant offsets. Included by code that walks
// frames; hot path. See Note [Walking without the GIL] in frame_walker.h.
#pragma once

#include <cstdint>

#include "frame_walker.h"

namespace peakline::pyhook {

// From 3.12 on, a frame with this owner or above represents C code between Python frames
// (FRAME_OWNED_BY_CSTACK, _INTERPRETER, _THREAD_STATE): it has no line.
inline constexpr uint8_t kFirstShimOwner = 3;

template <const PythonLayout& kLayout>
[[gnu::always_inline]] inline const void* top_frame(const void* thread) {
    const void* holder = read_at<const void*>(thread, kLayout.thread_frame);
    if constexpr (kLayout.thread_frame_is_cframe) {
        return holder == nullptr ? nullptr : read_at<const void*>(holder, kLayout.cframe_frame);
    }
    return holder;
}

template <const PythonLayout& kLayout>
[[gnu::always_inline]] inline RawFrame read_frame(const void* frame) {
    const uint64_t code = read_at<uint64_t>(frame, kLayout.frame_code) & kLayout.code_mask;
    if constexpr (kLayout.position_is_index) {
        const int64_t index = read_at<int32_t>(frame, kLayout.frame_position);
        return {code, static_cast<uint64_t>(index)};
    }
    return {code, read_at<uint64_t>(frame, kLayout.frame_position)};
}

template <const PythonLayout& kLayout>
[[gnu::always_inline]] inline uint64_t read_first_local(const void* frame) {
    return read_at<uint64_t>(frame, kLayout.frame_locals) & kLayout.code_mask;
}

template <const PythonLayout& kLayout>
[[gnu::always_inline]] inline bool is_shim(const void* frame) {
    if constexpr (kLayout.frame_owner != 0) {
        return read_at<uint8_t>(frame, kLayout.frame_owner) >= kFirstShimOwner;
    }
    return false;
}

template <const PythonLayout& kLayout>
[[gnu::always_inline]] inline const void* skip_shims(const void* frame) {
    while (frame != nullptr && is_shim<kLayout>(frame)) {
        frame = read_at<const void*>(frame, kLayout.frame_previous);
    }
    return frame;
}

template <const PythonLayout& kLayout>
[[gnu::always_inline]] inline const void* caller_of(const void* frame) {
    return skip_shims<kLayout>(read_at<const void*>(frame, kLayout.frame_previous));
}

// The innermost frame of this thread; nullptr if it has none.
template <const PythonLayout& kLayout>
[[gnu::always_inline]] inline const void* innermost_frame(const void* thread) {
    return thread == nullptr ? nullptr : skip_shims<kLayout>(top_frame<kLayout>(thread));
}

// Calls make.operator()<kLayout>() for the layout of this version; returns an empty result for an
// unknown version.
template <class Make>
auto made_for(const PythonLayout& layout, Make make) {
    decltype(make.template operator()<kLayout310>()) made {};
    const auto make_it = [&]<const PythonLayout & kRow>() {
        if (kRow.minor == layout.minor) {
            made = make.template operator()<kRow>();
        }
    };
    for_each_layout(make_it, KnownLayouts());
    return made;
}

}  // namespace peakline::pyhook
