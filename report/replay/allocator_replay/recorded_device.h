// A device that replays the trace: it returns the recorded addresses and refusals. The model's
// actions and the recorded ones must be the same, in order; the first difference is kept.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "report/replay/allocator_model/model_device.h"

namespace peakline::report {

class RecordedDevice final : public ModelDevice {
public:
    // Records of a request come before the model serves it. Segments that the program releases at
    // once (an emptied cache) are recorded after the call.
    void record(const SegmentChange& change);
    // No recorded change may be left when a request is served, and no made change when the next one
    // begins.
    void begin_request();
    void end_request();
    bool is_waiting() const { return !recorded_.empty(); }
    const std::deque<SegmentChange>& recorded() const { return recorded_; }

    // Returns the difference found since the last call; nullopt: none.
    std::optional<std::string> take_difference();

    std::optional<uint64_t> allocate(const SegmentChange& change) override;
    std::optional<uint64_t> map(const SegmentChange& change) override;
    uint64_t reserve_addresses(uint64_t bytes) override;
    void changed(const SegmentChange& change) override;

private:
    void differ(const std::string& difference);

    std::deque<SegmentChange> recorded_;  // recorded and not made yet
    std::deque<SegmentChange> made_;      // made and not recorded yet
    std::optional<std::string> difference_;
    uint64_t next_unknown_ = uint64_t{1} << 60;  // for addresses that the trace does not have
};

}  // namespace peakline::report
