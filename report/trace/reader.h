// Opens a trace and gives access to its parts: superblock, definitions, summary and the stream of
// events. Trusts nothing: readable parts are read, unreadable ones are listed in problems(). After
// opening, a reader is constant, so several threads may use it at once. Never prints, never repairs
// silently.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/trace/definitions/definitions.h"
#include "report/trace/events/decode_ahead.h"
#include "report/trace/file/chunk_index.h"
#include "report/trace/file/superblock.h"
#include "report/trace/summary/checkpoint.h"
#include "report/trace/summary/summary.h"

namespace peakline::report {

class TraceReader {
public:
    // Both throw TraceError when no part of the trace can be read.
    static TraceReader open_file(const std::string& path);
    // `bytes` must outlive the reader.
    static TraceReader from_memory(std::string name, std::span<const unsigned char> bytes);

    const std::string& name() const { return source_.name(); }
    uint64_t size_bytes() const { return source_.size_bytes(); }
    bool is_packed() const { return source_.is_packed(); }
    bool is_being_written() const { return source_.is_being_written(); }
    const format::Superblock& superblock() const { return superblock_; }
    const std::vector<ChunkEntry>& chunks() const { return chunks_; }
    const Definitions& definitions() const { return definitions_; }
    const Summary& summary() const { return summary_; }
    // The start of the events in a trace that keeps only some of them; else nullptr.
    const Checkpoint* checkpoint() const { return checkpoint_ ? &*checkpoint_ : nullptr; }
    bool is_bounded() const { return report::is_bounded(superblock_); }
    // Whether torch's segments and the driver's levels are known at the start of the events.
    bool knows_standing() const {
        return !is_bounded() || (checkpoint_ && checkpoint_->standing.has_value());
    }
    // The recorder's counts of all events. nullptr when there are none, or when headers or
    // definitions show any damage: then the caller must read the events.
    const RecordedTotals* whole_totals() const;
    // The final counts of views, valid only if whole_totals() is: then Summary::views cover all
    // events. Else nullptr.
    const ViewsEnd* whole_views() const;
    // Problems found while opening; a pass over the events finds its own, see EventTotals.
    const Problems& problems() const { return problems_; }

    bool has_events() const;
    // Whether the trace has allocations on a GPU; from headers and summaries, without the events.
    bool has_gpu_memory() const;
    // An upper limit on the allocations in the EVENTS chunks.
    uint64_t max_alloc_count() const;
    // The time of the last event; 0 without events. Reads the last EVENTS chunk only.
    uint64_t last_tick() const;
    double seconds(uint64_t ticks) const {
        return static_cast<double>(ticks) * superblock_.tick_ns * 1e-9;
    }
    // The nearest tick: a time from a report is rounded, and means its event. Any number is valid.
    uint64_t tick_of(double seconds) const {
        const double ticks = std::round(seconds * 1e9 / superblock_.tick_ns);
        return ticks < 9e18 ? static_cast<uint64_t>(std::max(ticks, 0.0)) : UINT64_MAX;
    }

    // Decodes all events into `visitor`, see event_decoder.h. Calls it on this thread.
    template <class Visitor>
    EventTotals read_events(Visitor& visitor,
                            const Progress& progress = {},
                            Decoding decoding = Decoding::kWhereItPays) const {
        EventStream stream(source_, chunks_, checkpoint());
        return visit_events(stream, visitor, progress, decodes_ahead(decoding, chunks_.size()));
    }

    // For callers that decode chunk by chunk; the reader must outlive the stream.
    EventStream event_stream() const { return EventStream(source_, chunks_, checkpoint()); }

private:
    explicit TraceReader(ByteSource source);

    ByteSource source_;
    Problems problems_;
    format::Superblock superblock_;
    std::vector<ChunkEntry> chunks_;
    Definitions definitions_;
    Summary summary_;
    std::optional<Checkpoint> checkpoint_;
};

}  // namespace peakline::report
