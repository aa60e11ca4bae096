// Records blocks that torch's allocator held before the recording: see Note [Blocks from before] in
// allocator/record/recorder_adoption.cpp.
#include <vector>

#include "allocator/record/recorder.h"
#include "preload/hooks/segment_hooks.h"
#include "preload/peakline_api.h"

using peakline::record::Recorder;

namespace {

void adopt_held_segments(const PeaklineHeldSegment* segments, size_t count) {
    peakline::preload::LiveSegments listed;
    if (!listed.reserve(count + 1)) {
        return;
    }
    Recorder& recorder = Recorder::instance();
    for (size_t i = 0; i < count; ++i) {
        if (segments[i].is_expandable == 0 && segments[i].device < peakline::record::kMaxDevices) {
            listed.push({segments[i].address,
                         segments[i].bytes,
                         recorder.table().intern_stream(segments[i].stream),
                         segments[i].device,
                         0});  // the pool is unknown
        }
    }
    peakline::preload::adopt_segments(listed);
    for (size_t i = 0; i < count; ++i) {
        if (segments[i].is_expandable != 0) {
            peakline::preload::adopt_mapped_bytes(segments[i].device, segments[i].bytes);
        }
    }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) uint64_t
peakline_adopt(const PeaklineHeldBlock* blocks,
               size_t block_count,
               const PeaklineHeldSegment* segments,
               size_t segment_count) {
    Recorder& recorder = Recorder::instance();
    if (segment_count != 0) {
        adopt_held_segments(segments, segment_count);
    }
    std::vector<Recorder::AdoptedBlock> adopted;
    adopted.reserve(block_count);
    for (size_t i = 0; i < block_count; ++i) {
        const PeaklineHeldBlock& block = blocks[i];
        adopted.push_back({block.address,
                           block.requested_bytes,
                           block.block_bytes,
                           recorder.table().intern_stream(block.stream),
                           block.device,
                           block.is_deferred != 0});
    }
    return recorder.adopt(adopted.data(), adopted.size());
}
