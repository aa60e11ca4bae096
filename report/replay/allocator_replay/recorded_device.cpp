#include "recorded_device.h"

#include <algorithm>
#include <utility>

namespace peakline::report {
namespace {

std::string text_of(const SegmentChange& change) {
    static constexpr const char* kActions[] = {"", "allocates", "frees", "maps", "unmaps"};
    std::string text = std::string(kActions[static_cast<size_t>(change.action) % 5]) + " " +
                       std::to_string(change.bytes) + " bytes";
    return change.pool == 0 ? text : text + " of pool " + std::to_string(change.pool);
}

}  // namespace

void RecordedDevice::differ(const std::string& what) {
    if (!difference_.has_value()) {
        difference_ = what;
    }
}

std::optional<std::string> RecordedDevice::take_difference() {
    return std::exchange(difference_, std::nullopt);
}

void RecordedDevice::record(const SegmentChange& change) {
    const auto found = std::find(made_.begin(), made_.end(), change);
    if (found != made_.end()) {
        made_.erase(found);
    } else {
        recorded_.push_back(change);
    }
}

void RecordedDevice::begin_request() {
    if (!made_.empty()) {
        differ("the model " + text_of(made_.front()) + ", the trace does not");
        made_.clear();
    }
}

void RecordedDevice::end_request() {
    if (!recorded_.empty()) {
        differ("the trace " + text_of(recorded_.front()) + ", the model does not");
        recorded_.clear();
    }
}

std::optional<uint64_t> RecordedDevice::allocate(const SegmentChange& change) {
    const bool is_next = !recorded_.empty() && recorded_.front().action == change.action &&
                         recorded_.front().bytes == change.bytes &&
                         recorded_.front().stream == change.stream;
    return is_next ? std::optional(recorded_.front().address) : std::nullopt;
}

std::optional<uint64_t> RecordedDevice::map(const SegmentChange& change) {
    return allocate(change);
}

uint64_t RecordedDevice::reserve_addresses(uint64_t bytes) {
    if (!recorded_.empty() && recorded_.front().action == format::SegmentAction::kMap) {
        return recorded_.front().address;
    }
    next_unknown_ += bytes;
    return next_unknown_ - bytes;
}

// Frees may be recorded in another order than the model makes them, but never across an allocation.
void RecordedDevice::changed(const SegmentChange& change) {
    if (recorded_.empty()) {
        made_.push_back(change);
        return;
    }
    for (auto at = recorded_.begin(); at != recorded_.end(); ++at) {
        if (*at == change) {
            recorded_.erase(at);
            return;
        }
        if (at->grows()) {
            break;
        }
    }
    differ("the model " + text_of(change) + ", the trace " + text_of(recorded_.front()));
}

}  // namespace peakline::report
