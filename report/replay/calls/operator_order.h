// Orders calls of operators by their beginning, although each is known only when it has ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "call_result.h"

namespace peakline::report {

class OperatorOrder {
public:
    using Sink = std::function<void(const OperatorCall&)>;

    // With an empty sink nothing is kept.
    explicit OperatorOrder(Sink sink) : sink_(std::move(sink)) {}

    void add(const OperatorCall& call) {
        if (sink_) {
            waiting_.push_back(call);
        }
    }
    // Whether to call hand_on(); rare, so that sorting costs little.
    bool is_due() const { return waiting_.size() >= due_at_; }
    size_t waiting_count() const { return waiting_.size(); }

    // Passes on the calls that began before `event`, which must all have ended.
    void hand_on(uint64_t event) {
        if (!std::is_sorted(waiting_.begin(), waiting_.end(), began_before)) {
            std::sort(waiting_.begin(), waiting_.end(), began_before);
        }
        const auto end = std::partition_point(
            waiting_.begin(), waiting_.end(), [event](const OperatorCall& call) {
                return call.begin_event < event;
            });
        std::for_each(waiting_.begin(), end, sink_);
        waiting_.erase(waiting_.begin(), end);
        due_at_ = kSortedAtOnce + 2 * waiting_.size();
    }

private:
    static constexpr size_t kSortedAtOnce = 1024;

    static bool began_before(const OperatorCall& a, const OperatorCall& b) {
        return a.begin_event < b.begin_event;
    }

    Sink sink_;
    std::vector<OperatorCall> waiting_;
    size_t due_at_ = kSortedAtOnce;
};

}  // namespace peakline::report
