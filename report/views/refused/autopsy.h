// Why a request was refused: what held the device then, what lay free, and how much was missing.
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

// The first that holds, from the top down to kFull: what is free in torch would have been enough,
// by itself (the first four) or with what the device could still give, and why it was of no use.
enum class RefusalReason : uint8_t {
    kFull,         // too little is free on the device and in torch's segments
    kFragmented,   // enough is free in torch's segments, in pieces that are too small
    kOtherStream,  // a piece that is large enough lies in segments of another stream
    kWaiting,      // enough was freed, but other streams still use it
    kFraction,     // the device has enough, but torch may use only a part of it
    kOtherPool,    // a piece that is large enough, or enough of them, lies in another pool
    kPieces,       // enough is free in torch's segments, or waits; in which pieces is not kept
    kPinned,       // enough would be free, if torch could return segments that have blocks
};

struct Autopsy {
    uint64_t number = 0;  // of the request, from 1
    RefusedRequest refused;
    // Whether the program went on: see Note [Caught].
    bool is_caught = false;
    Label line;          // that asked
    std::string module;  // empty: none
    std::string phase;
    std::optional<uint32_t> step;
    std::vector<TrackedBlock> live;  // none where single blocks are not known
    Table lines;                     // what was live, in bytes of blocks
    Table categories;
    // Activations and temporaries from before the refusal before this one: of a run of the code
    // that failed, so an exception that is kept may hold them.
    uint64_t older_bytes = 0;
    uint64_t number_before = 0;               // of that refusal; 0: none is known
    std::optional<RefusedSegments> segments;  // nullopt: the trace does not know them
    uint64_t device_bytes = 0;                // in all; 0: not known
    RefusalReason reason = RefusalReason::kFull;
    // torch itself refused it: see RefusedRequest::limit_bytes.
    bool is_over_limit = false;
    // How much more had to be free; 0: the device had enough, or its size is not known.
    uint64_t missing_bytes = 0;

    // That the device could still give, within the limit.
    uint64_t room_bytes() const;
    // In use by others than torch's allocator: contexts, libraries, other processes. nullopt: the
    // trace does not know torch's segments or the size of the device.
    std::optional<uint64_t> outside_bytes() const;
    // The part of it that other processes have; nullopt: not known.
    std::optional<uint64_t> other_process_bytes() const;
    // The free bytes that `reason` is about.
    const FreePieces* free_pieces() const;
};

// Of the request that `selection` names, else of the last one. Throws TraceError when there is
// none.
Autopsy make_autopsy(const TraceReader& reader,
                     const Selection& selection,
                     const RefusedRequests& refused,
                     StackLookup& stacks,
                     const Progress& progress);

// Note [Caught]
// A program that catches the exception goes on (searches for a batch size, retries). The last
// request ended the program when its main ended by that exception, or did not end at all (killed,
// os._exit) and allocated nothing after it. All others were caught.
bool ended_the_program(const TraceReader& reader, const RefusedRequests& refused);

const char* reason_name(RefusalReason reason);

}  // namespace peakline::report
