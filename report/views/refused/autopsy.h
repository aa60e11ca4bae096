// Why a request was refused: what held the device then, what lay free, and how much was missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "refused_segments.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/levels/refused_requests.h"
#include "report/trace/reader.h"
#include "report/views/blocks/table.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

enum class RefusalReason : uint8_t {
    kFull,         // too little is free on the device and in torch's segments
    kFragmented,   // enough is free in torch's segments, in pieces that are too small
    kOtherStream,  // a piece that is large enough lies in segments of another stream
    kWaiting,      // enough was freed, but other streams still use it
    kFraction,     // the device has enough, but torch may use only a part of it
    kOtherPool,    // a piece that is large enough lies in segments of another pool
    kPieces,       // enough is free in torch's segments, or waits; in which pieces is not kept
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
    Table lines;  // what was live, in bytes of blocks
    Table categories;
    std::optional<RefusedSegments> segments;  // nullopt: the trace does not know them
    uint64_t device_bytes = 0;                // in all; 0: not known
    RefusalReason reason = RefusalReason::kFull;
    // How much more had to be free; 0: the device had enough, or its size is not known.
    uint64_t missing_bytes = 0;

    // In use by others than torch's allocator: contexts, libraries, other processes. nullopt: the
    // trace does not know torch's segments or the size of the device.
    std::optional<uint64_t> outside_bytes() const;
    // False when the device is too small for the request and for what others use. True: it may.
    bool could_ever_fit() const;
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
