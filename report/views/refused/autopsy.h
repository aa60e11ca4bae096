// Explains a refused request: the holders of the device then, the free memory, and the missing
// bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "refused_segments.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/levels/refused_requests.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"
#include "report/views/blocks/table.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

// The first matching reason, from the top down to kFull. Torch's free memory would have been
// enough, alone (the first four) or with the room on the device; the reason explains why it was
// unusable.
enum class RefusalReason : uint8_t {
    kFull,         // too little is free on the device and in torch's segments
    kFragmented,   // enough is free in torch's segments, in pieces that are too small
    kOtherStream,  // a large enough piece is in segments of another stream
    kWaiting,      // enough was freed, but other streams still use it
    kFraction,     // the device has enough, but torch may use only a part of it
    kOtherPool,    // a large enough piece, or enough of them, is in another pool
    kPieces,       // enough is free in torch's segments, or waits; the pieces are not recorded
    kPinned,       // enough would be free if torch could return segments with blocks
};

struct Autopsy {
    uint64_t number = 0;  // number of the request, from 1
    RefusedRequest refused;
    // Whether the program continued: see Note [Caught].
    bool is_caught = false;
    Label line;          // the requesting line
    std::string module;  // empty: none
    std::string phase;
    std::optional<uint32_t> step;
    std::vector<TrackedBlock> live;  // none if single blocks are not known
    Table lines;                     // the live set, in bytes of blocks
    Table categories;
    // Activations and temporaries from before the previous refusal: they belong to an earlier run
    // of the failed code, so a kept exception may hold them.
    uint64_t older_bytes = 0;
    uint64_t number_before = 0;               // number of the previous refusal; 0: none is known
    std::optional<RefusedSegments> segments;  // nullopt: unknown to the trace
    uint64_t device_bytes = 0;                // total; 0: unknown
    RefusalReason reason = RefusalReason::kFull;
    // Refused by torch itself: see RefusedRequest::limit_bytes.
    bool is_over_limit = false;
    // The bytes that were missing; 0: the device had enough, or its size is unknown.
    uint64_t missing_bytes = 0;

    // Bytes that the device could still provide, within the limit.
    uint64_t room_bytes() const;
    // Bytes in use outside of torch's allocator: contexts, libraries, other processes. nullopt: the
    // trace lacks torch's segments or the size of the device.
    std::optional<uint64_t> outside_bytes() const;
    // The part of other processes; nullopt: unknown.
    std::optional<uint64_t> other_process_bytes() const;
    // The free bytes that `reason` refers to.
    const FreePieces* free_pieces() const;
};

// Explains the request that `selection` names, else the last one. Throws TraceError when there is
// none.
Autopsy make_autopsy(const TraceReader& reader,
                     const Selection& selection,
                     const RefusedRequests& refused,
                     StackLookup& stacks,
                     const Progress& progress);

// Note [Caught]
// A program that catches the exception continues (searches for a batch size, retries). The last
// request ended the program if that exception ended its main, or if main never ended (killed,
// os._exit) and allocated nothing after it. All other requests were caught.
bool ended_the_program(const TraceReader& reader, const RefusedRequests& refused);

const char* reason_name(RefusalReason reason);

}  // namespace peakline::report
