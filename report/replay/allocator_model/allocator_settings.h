// The settings of torch's caching allocator that decide where blocks lie: PYTORCH_CUDA_ALLOC_CONF
// as torch reads it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace peakline::report {

struct AllocatorSettings {
    static constexpr uint64_t kNoLimit = ~uint64_t{0};
    static constexpr size_t kIntervals = 16;  // of request sizes: below 2 MiB, 4 MiB, ...

    std::string text;  // as it was given
    // Of a recording: why the text could not be read. The rest is then as torch has it unasked.
    std::string fault;
    bool is_expandable = false;
    uint64_t max_split_bytes = kNoLimit;
    uint64_t non_split_rounding_bytes = 0;  // 0: that of a large segment
    uint64_t large_segment_bytes = uint64_t{20} << 20;
    std::array<uint64_t, kIntervals> divisions = {};  // of a power of two; 0, 1: none
    double collection_threshold = 0;                  // 0: no garbage collection
    double memory_fraction = 0;                       // 0: not set here
    // Other threads may change the state within a request.
    bool releases_lock = false;
    bool is_native = true;  // false: another backend, to which none of this applies

    // What torch makes of a request.
    uint64_t round_up(uint64_t requested_bytes) const;
    // What the device is asked for where no block fits one of `rounded_bytes`.
    uint64_t segment_bytes(uint64_t rounded_bytes) const;
    uint64_t non_split_rounding() const {
        return non_split_rounding_bytes != 0 ? non_split_rounding_bytes : large_segment_bytes;
    }
};

// Throws TraceError that says which part torch would not take.
AllocatorSettings parse_allocator_settings(const std::string& text);
// Of a trace, for views that need them for a detail: never throws, see `fault`.
AllocatorSettings recorded_allocator_settings(const std::string& text);

inline constexpr uint64_t kLeastBlockBytes = 512;
inline constexpr uint64_t kMostSmallBytes = uint64_t{1} << 20;  // served from small segments
inline constexpr uint64_t kSmallSegmentBytes = uint64_t{2} << 20;

}  // namespace peakline::report
