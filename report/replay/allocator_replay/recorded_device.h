// A device that says what the trace says: where each segment lies, and which was refused. What the
// model does and what was recorded must be the same, in order; the first difference is kept.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "report/replay/allocator_model/model_device.h"

namespace peakline::report {

class RecordedDevice final : public ModelDevice {
public:
    // Records of a request stand before it: they come before the model serves it. What the program
    // gives back at once (an emptied cache) is recorded behind the call.
    void record(const SegmentChange& change);
    // Nothing recorded may be left when a request is served, nothing made when the next one begins.
    void begin_request();
    void end_request();
    bool is_waiting() const { return !recorded_.empty(); }
    const std::deque<SegmentChange>& recorded() const { return recorded_; }

    // What is different since the last call; nullopt: nothing.
    std::optional<std::string> take_difference();

    std::optional<uint64_t> allocate(const SegmentChange& change) override;
    std::optional<uint64_t> map(const SegmentChange& change) override;
    uint64_t reserve_addresses(uint64_t bytes) override;
    void changed(const SegmentChange& change) override;

private:
    void differ(const std::string& what);

    std::deque<SegmentChange> recorded_;  // and not made yet
    std::deque<SegmentChange> made_;      // and not recorded yet
    std::optional<std::string> difference_;
    uint64_t next_unknown_ = uint64_t{1} << 60;  // addresses the trace does not know
};

}  // namespace peakline::report
