// The device behind the allocator model: a recorded device, or one of a given size.
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

    // Returns the segment's address; nullopt: the device refuses. `change.address` is not set.
    virtual std::optional<uint64_t> allocate(const SegmentChange& change) = 0;
    // Maps memory into a piece of an expandable segment and returns the address, which may differ
    // from the requested one while the segment has no other piece; nullopt: the device refuses.
    virtual std::optional<uint64_t> map(const SegmentChange& change) = 0;
    // Returns the address of a new expandable segment of this many bytes.
    virtual uint64_t reserve_addresses(uint64_t bytes) = 0;
    // Reports each change the model has made, including the ones above.
    virtual void changed(const SegmentChange& change) = 0;
};

}  // namespace peakline::report
