// The device behind a model of the allocator: either what a trace says of it, or one of a size.
#pragma once

#include <cstdint>
#include <optional>

#include "allocator/record/format/trace_format.h"

namespace peakline::report {

struct SegmentChange {
    format::SegmentAction action{};
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t stream = 0;  // handle
    uint64_t pool = 0;    // private one, 0: the default one

    bool operator==(const SegmentChange&) const = default;
    bool grows() const {
        return action == format::SegmentAction::kAlloc || action == format::SegmentAction::kMap;
    }
};

class ModelDevice {
public:
    ModelDevice() = default;
    virtual ~ModelDevice() = default;
    ModelDevice(const ModelDevice&) = delete;
    ModelDevice& operator=(const ModelDevice&) = delete;

    // Where the segment lies; nullopt: the device refuses. `change.address` is not set.
    virtual std::optional<uint64_t> allocate(const SegmentChange& change) = 0;
    // A piece of an expandable segment gets memory: where it lies, which may be elsewhere while the
    // segment has no other piece; nullopt: the device refuses.
    virtual std::optional<uint64_t> map(const SegmentChange& change) = 0;
    // Where a new expandable segment of so many bytes begins.
    virtual uint64_t reserve_addresses(uint64_t bytes) = 0;
    // What the model has done, also of the above.
    virtual void changed(const SegmentChange& change) = 0;
};

}  // namespace peakline::report
