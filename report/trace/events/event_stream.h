// Reads the EVENTS chunks of a trace one after another and checks each before it is decoded. Keeps
// the numbering of allocations right across unreadable chunks, and collects the problems that
// reports must show.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "event_decoder.h"
#include "report/trace/summary/checkpoint.h"

namespace peakline::report {

// Upper limit, from the shortest alloc record: tag, class, address.
inline constexpr uint64_t kMaxAllocsInChunk = format::kPayloadBytes / 3;

// Called with the fraction of work done, 0 to 1. May throw to end the work.
using Progress = std::function<void(double)>;

// Counts and problems of one pass over the events.
struct EventTotals {
    uint64_t event_count = 0;
    uint64_t alloc_count = 0;
    uint64_t chunk_count = 0;
    uint64_t payload_bytes = 0;
    uint64_t last_tick = 0;
    uint64_t skipped_chunk_count = 0;
    // The last event marks the clean end of the recording; nothing was recorded after it.
    bool clean_end = false;
    Problems problems;
};

class EventStream {
public:
    // The stream begins at `checkpoint`, or at the first chunk if it is nullptr.
    EventStream(const ByteSource& source,
                const std::vector<ChunkEntry>& chunks,
                const Checkpoint* checkpoint = nullptr);

    // Moves to the next chunk that can be decoded; false at the end of the trace.
    bool next_chunk();

    std::span<const unsigned char> payload() const { return payload_; }
    StreamPosition& position() { return position_; }
    double fraction_done() const;

    // Call it after decoding the chunk.
    void finish_chunk(const ChunkEnd& end);

    EventTotals take_totals();

private:
    void skip_chunk(const std::string& reason);
    void resume_after_gap(const format::ChunkHeader& header);
    void check_continuity(const format::ChunkHeader& header);
    bool last_of_its_type() const;
    std::string chunk_text() const;

    const ByteSource& source_;
    const std::vector<ChunkEntry>& chunks_;
    std::vector<unsigned char> scratch_;
    std::span<const unsigned char> payload_;
    uint64_t number_ = 0;       // index in chunks_ of the chunk being decoded
    uint64_t next_number_ = 0;  // index of the next chunk to read
    bool after_gap_ = false;
    uint64_t next_event_ = 0;  // event number, as chunk headers count
    StreamPosition position_;
    EventTotals totals_;
};

}  // namespace peakline::report
