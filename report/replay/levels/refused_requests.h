// The requests that devices refused: what was asked, and the level then. One pass over the events.
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
    uint64_t live_bytes = 0;  // allocated, of the device
    // Older traces do not know these: then the first is requested_bytes, the others are 0.
    uint64_t asked_bytes = 0;
    uint32_t stream = 0;
    uint64_t limit_bytes = 0;
    // Of a request before the events of a trace that keeps less than all: what is known of it, with
    // no event. nullptr: it is among the events.
    const EarlierRefusal* earlier = nullptr;
};

struct RefusedRequests {
    // A damaged trace may have any number of them.
    static constexpr size_t kMaxKept = 1'000'000;

    // In order: of those before the kept events the last ones, of the others the first kMaxKept.
    std::vector<RefusedRequest> list;
    uint64_t forgotten_count = 0;  // before the first of the list
    uint64_t count = 0;
    // Blocks that were made after the last one, on any device, before main ended.
    uint64_t later_alloc_count = 0;
    bool main_has_ended = false;  // and the trace says so

    // Whether a trace that keeps less than all events still knows of those that are gone.
    static bool is_complete(const TraceReader& reader);
    // Counted from 1; 0: the last one. Throws TraceError that says how many there are.
    // A reference into `list`.
    const RefusedRequest& numbered(uint64_t number, const TraceReader& reader) const;
    // On the device of the request of this number, the one before it; nullptr: none is known.
    const RefusedRequest* before(uint64_t number) const;
    // Of one that the list holds, counted from 1.
    uint64_t number_of(const RefusedRequest& one) const {
        return forgotten_count + static_cast<uint64_t>(&one - list.data()) + 1;
    }
};

RefusedRequests find_refused_requests(const TraceReader& reader, const Progress& progress = {});

}  // namespace peakline::report
