// The settings of torch's caching allocator that decide the addresses of blocks:
// PYTORCH_CUDA_ALLOC_CONF as torch reads it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace peakline::report {

struct AllocatorSettings {
    static constexpr uint64_t kNoLimit = ~uint64_t{0};
    static constexpr size_t kIntervals = 16;  // request sizes: below 2 MiB, 4 MiB, ...

    std::string text;  // as given
    // For a recording: why the text could not be read. The other fields then have torch's defaults.
    std::string fault;
    bool is_expandable = false;
    uint64_t max_split_bytes = kNoLimit;
    uint64_t non_split_rounding_bytes = 0;  // 0: large_segment_bytes
    uint64_t large_segment_bytes = uint64_t{20} << 20;
    std::array<uint64_t, kIntervals> divisions = {};  // of a power of two; 0, 1: none
    double collection_threshold = 0;                  // 0: no garbage collection
    double memory_fraction = 0;                       // 0: not set here
    // Other threads may change the state during a request.
    bool releases_lock = false;
    bool is_native = true;  // false: another backend, for which nothing here applies

    // Rounds a request up as torch does.
    uint64_t round_up(uint64_t requested_bytes) const;
    // Bytes that torch requests from the device when no block fits a request of `rounded_bytes`.
    uint64_t segment_bytes(uint64_t rounded_bytes) const;
    uint64_t non_split_rounding() const {
        return non_split_rounding_bytes != 0 ? non_split_rounding_bytes : large_segment_bytes;
    }
};

// Throws TraceError that names the part torch would refuse.
AllocatorSettings parse_allocator_settings(const std::string& text);
// For views that need a trace's settings only for a detail: never throws, see `fault`.
AllocatorSettings recorded_allocator_settings(const std::string& text);

inline constexpr uint64_t kLeastBlockBytes = 512;
// The bytes of the block for a request, without settings that round it up further.
constexpr uint64_t in_least_blocks(uint64_t bytes) {
    return (bytes + kLeastBlockBytes - 1) / kLeastBlockBytes * kLeastBlockBytes;
}
inline constexpr uint64_t kMostSmallBytes = uint64_t{1} << 20;  // served from small segments
inline constexpr uint64_t kSmallSegmentBytes = uint64_t{2} << 20;

}  // namespace peakline::report
