#include "recorded_allocations.h"

#include <numeric>

#include "allocation_sums.h"

namespace peakline::report {
namespace {

using format::ExtendedType;

template <class Counts>
uint64_t total_of(const Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

// Counts the records by kind; nullopt when the numbers contradict each other.
std::optional<RecordCounts> recorded_counts(const RecordedTotals& recorded) {
    RecordCounts records;
    const uint64_t extended = total_of(recorded.extended_counts);
    records.alloc_class = total_of(recorded.class_counts);
    records.alloc_inline = recorded.alloc_count - records.alloc_class;
    records.free_deferred = recorded.extended_count(ExtendedType::kFreeDeferred);
    records.free_completed = recorded.extended_count(ExtendedType::kFreeCompleted);
    const uint64_t free_with_context = recorded.extended_count(ExtendedType::kFreeWithContext);
    records.free = recorded.event_count - recorded.alloc_count - extended + free_with_context;
    records.mark = recorded.extended_count(ExtendedType::kMark);
    records.segment = recorded.extended_count(ExtendedType::kSegment);
    records.out_of_memory = recorded.extended_count(ExtendedType::kOutOfMemory);
    records.other = extended - records.free_deferred - records.free_completed - free_with_context -
                    records.mark - records.segment - records.out_of_memory;
    // Details of losses are only in the events.
    const bool good = recorded.extended_count(ExtendedType::kLoss) == 0 &&
                      recorded.extended_count(ExtendedType::kStopped) == 0 &&
                      records.alloc_class <= recorded.alloc_count &&
                      recorded.alloc_count <= recorded.event_count &&
                      extended <= recorded.event_count - recorded.alloc_count;
    return good ? std::optional(records) : std::nullopt;
}

// False when the sums refer to undefined ids or do not add up to `records`.
bool add_recorded(const TraceReader& reader,
                  const RecordedTotals& recorded,
                  const RecordCounts& records,
                  AllocationSums& sums) {
    const Definitions& definitions = reader.definitions();
    const std::vector<AllocationShape>& classes = definitions.classes.items();
    if (recorded.class_counts.size() > classes.size()) {
        return false;
    }
    for (size_t i = 0; i < recorded.class_counts.size(); ++i) {
        if (recorded.class_counts[i] != 0) {
            sums.add(classes[i], recorded.class_counts[i]);
        }
    }
    uint64_t inline_count = 0;
    for (const AllocationSum& sum : recorded.inline_totals) {
        if (!definitions.contexts.has(sum.context) || sum.device >= kMaxDevices) {
            return false;
        }
        inline_count += sum.count;
        sums.add_sum(sum);
    }
    const SizeHistogram& block = recorded.inline_sizes[size_t(format::Measure::kAllocated)];
    const SizeHistogram& requested = recorded.inline_sizes[size_t(format::Measure::kRequested)];
    sums.add_sizes(requested, block);
    for (const uint32_t phase : recorded.phases) {
        sums.add_phase_name(definitions.text(phase));
    }
    return inline_count == records.alloc_inline && total_of(block) == inline_count &&
           total_of(requested) == inline_count;
}

// Returns the totals that a pass over the events would have found.
EventTotals recorded_events(const TraceReader& reader, const RecordedTotals& recorded) {
    EventTotals events;
    events.clean_end = true;  // totals are written only after it, and nothing follows them
    events.event_count = recorded.event_count;
    events.alloc_count = recorded.alloc_count;
    events.last_tick = reader.last_tick();
    for (const ChunkEntry& chunk : reader.chunks()) {
        if (chunk.is(format::ChunkType::kEvents)) {
            ++events.chunk_count;
            events.payload_bytes += chunk.payload_bytes;
        }
    }
    return events;
}

}  // namespace

std::optional<AllocationTotals> recorded_allocations(const TraceReader& reader) {
    const RecordedTotals* recorded = reader.whole_totals();
    if (recorded == nullptr) {
        return std::nullopt;
    }
    AllocationTotals result;
    AllocationSums sums;
    const std::optional<RecordCounts> records = recorded_counts(*recorded);
    if (!records.has_value() || !add_recorded(reader, *recorded, *records, sums)) {
        return std::nullopt;
    }
    result.records = *records;
    sums.move_to(&result);
    result.whole_run_allocs = recorded->alloc_count;
    result.whole_run_frees = records->free + records->free_deferred;
    result.events = recorded_events(reader, *recorded);
    EventHealth health;
    if (const ViewsEnd* end = reader.whole_views()) {
        health.main_end_tick = end->tick;
    }
    result.health = health.finish(reader, result.events);
    return result;
}

}  // namespace peakline::report
