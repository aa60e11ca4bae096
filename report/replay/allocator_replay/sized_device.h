// A device with a fixed capacity for torch's allocator, sometimes with extra bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "report/replay/allocator_model/model_device.h"

namespace peakline::report {

class SizedDevice final : public ModelDevice {
public:
    explicit SizedDevice(uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

    void set_extra(uint64_t bytes) { extra_bytes_ = bytes; }

    std::optional<uint64_t> allocate(const SegmentChange& change) override {
        return has(change.bytes) ? std::optional(reserve_addresses(change.bytes)) : std::nullopt;
    }
    std::optional<uint64_t> map(const SegmentChange& change) override {
        return has(change.bytes) ? std::optional(change.address) : std::nullopt;
    }
    // The order of segments decides nothing, so no address is reused.
    uint64_t reserve_addresses(uint64_t bytes) override {
        next_address_ += bytes;
        return next_address_ - bytes;
    }
    void changed(const SegmentChange& change) override {
        used_bytes_ += change.grows() ? change.bytes : -change.bytes;
    }

private:
    // The capacity may shrink below the used bytes when others take more.
    bool has(uint64_t bytes) const { return used_bytes_ + bytes <= capacity_bytes_ + extra_bytes_; }

    uint64_t capacity_bytes_;
    uint64_t extra_bytes_ = 0;
    uint64_t used_bytes_ = 0;
    uint64_t next_address_ = uint64_t{1} << 40;
};

}  // namespace peakline::report
