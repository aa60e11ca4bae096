// Opens a trace and gives its parts: superblock, definitions, summary and the stream of events.
// Trusts nothing: what can be read is read, what cannot is listed in problems(). After opening, a
// reader is constant: several threads may use it at once. Never prints, never repairs silently.
#pragma once

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
    // Both throw TraceError when nothing of the trace can be read.
    static TraceReader open_file(const std::string& path);
    // `bytes` must outlive the reader.
    static TraceReader from_memory(std::string name, std::span<const unsigned char> bytes);

    const std::string& name() const { return source_.name(); }
    uint64_t size_bytes() const { return source_.size_bytes(); }
    bool is_packed() const { return source_.is_packed(); }
    bool is_being_written() const { return source_.is_being_written(); }
    const format::Superblock& superblock() const { return superblock_; }
    const std::vector<ChunkPlace>& chunks() const { return chunks_; }
    const Definitions& definitions() const { return definitions_; }
    const Summary& summary() const { return summary_; }
    // Where the events begin in a trace that keeps less than all of them; else nullptr.
    const Checkpoint* checkpoint() const { return checkpoint_ ? &*checkpoint_ : nullptr; }
    bool is_bounded() const { return report::is_bounded(superblock_); }
    // Whether torch's segments and what the driver gave are known where the events begin.
    bool knows_standing() const {
        return !is_bounded() || (checkpoint_ && checkpoint_->standing.has_value());
    }
    // The recorder's counts of all events; nullptr when there are none, or anything is wrong with
    // the trace as far as its headers and definitions show: then the events must be read.
    const RecordedTotals* whole_totals() const;
    // What the recorder knew of every event when it closed the trace, where whole_totals() holds:
    // Summary::views are those of all events; else nullptr.
    const ViewsEnd* whole_views() const;
    // Found while opening; a pass over the events finds its own, see EventTotals.
    const Problems& problems() const { return problems_; }

    bool has_events() const;
    // Whether any of its blocks lies on a GPU; from headers and summaries, without the events.
    bool has_gpu_memory() const;
    // Allocations that the EVENTS chunks can hold at most.
    uint64_t max_alloc_count() const;
    // The time of the last event; 0 without events. Reads the last EVENTS chunk only.
    uint64_t last_tick() const;
    double seconds(uint64_t ticks) const {
        return static_cast<double>(ticks) * superblock_.tick_ns * 1e-9;
    }

    // Decodes all events into `visitor`, see event_decoder.h, which is called on this thread.
    template <class Visitor>
    EventTotals read_events(Visitor& visitor,
                            const Progress& progress = {},
                            Decoding decoding = Decoding::kWhereItPays) const {
        EventStream stream(source_, chunks_, checkpoint());
        return visit_events(stream, visitor, progress, decodes_ahead(decoding, chunks_.size()));
    }

    // For who decodes chunk by chunk; the reader must outlive it.
    EventStream event_stream() const { return EventStream(source_, chunks_, checkpoint()); }

private:
    explicit TraceReader(ByteSource source);

    ByteSource source_;
    Problems problems_;
    format::Superblock superblock_;
    std::vector<ChunkPlace> chunks_;
    Definitions definitions_;
    Summary summary_;
    std::optional<Checkpoint> checkpoint_;
};

}  // namespace peakline::report
