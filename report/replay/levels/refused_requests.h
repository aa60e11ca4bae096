// Finds the requests that devices refused, and the level at each. One pass over the events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct RefusedRequest {
    OutOfMemory request;
    uint64_t event = 0;
    uint64_t live_bytes = 0;  // allocated bytes of the device
    // Older traces lack these: then the first is requested_bytes, the others are 0.
    uint64_t asked_bytes = 0;
    uint32_t stream = 0;
    uint64_t limit_bytes = 0;
    // The checkpoint's record of a request before the kept events, which has no event. nullptr: the
    // request is among the events.
    const EarlierRefusal* earlier = nullptr;
};

struct RefusedRequests {
    // A damaged trace may have any number of them.
    static constexpr size_t kMaxKept = 1'000'000;

    // In order: the last ones before the kept events, then the first kMaxKept among the events.
    std::vector<RefusedRequest> list;
    uint64_t forgotten_count = 0;  // number of requests before the first of the list
    uint64_t count = 0;
    // Blocks made after the last refusal, on any device, before main ended.
    uint64_t later_alloc_count = 0;
    bool main_has_ended = false;  // as the trace records

    // Whether the trace still has the requests before its kept events.
    static bool is_complete(const TraceReader& reader);
    // Returns a reference into `list`. Requests count from 1; 0: the last one. Throws TraceError
    // with the number of requests when there is no such request.
    const RefusedRequest& numbered(uint64_t number, const TraceReader& reader) const;
    // The previous request on the same device; nullptr: none is known.
    const RefusedRequest* before(uint64_t number) const;
    // The number of a request in the list, counted from 1.
    uint64_t number_of(const RefusedRequest& one) const {
        return forgotten_count + static_cast<uint64_t>(&one - list.data()) + 1;
    }
};

RefusedRequests find_refused_requests(const TraceReader& reader, const Progress& progress = {});

}  // namespace peakline::report
