#include "allocation_totals.h"

#include <utility>

#include "allocation_sums.h"
#include "recorded_allocations.h"

namespace peakline::report {
namespace {

using format::ExtendedType;

class CountingVisitor {
public:
    explicit CountingVisitor(const TraceReader& reader)
        : reader_(reader),
          classes_(reader.definitions().classes.items()),
          class_counts_(classes_.size()) {
        if (reader.checkpoint() != nullptr) {
            for (const PhaseSummary& phase : reader.checkpoint()->phases) {
                add_phase_name(phase.name);
            }
        }
    }

    void on_alloc_class(uint64_t, uint64_t, uint32_t class_id, uint64_t) {
        ++records_.alloc_class;
        if (class_id - 1 < class_counts_.size() && !classes_[class_id - 1].lost) {
            ++class_counts_[class_id - 1];
        } else {
            ++health_.lost_definition_alloc_count;
        }
    }

    void on_alloc_inline(uint64_t, uint64_t, const AllocationShape& shape, uint64_t) {
        ++records_.alloc_inline;
        health_.unknown_context_count += reader_.definitions().is_lost(shape.context) ? 1 : 0;
        AllocationShape counted = shape;
        counted.context = reader_.definitions().known_context(shape.context);
        counted.stream = reader_.definitions().known_stream(shape.stream);
        sums_.add(counted, 1);
    }

    void on_free(uint64_t, uint64_t, FreeKind kind, uint32_t) {
        ++(kind == FreeKind::kPlain      ? records_.free
           : kind == FreeKind::kDeferred ? records_.free_deferred
                                         : records_.free_completed);
    }

    void on_unmatched_free(uint64_t) {
        ++records_.free;
        ++health_.unmatched_free_count;
    }

    void on_rare(uint64_t, const RareEvent& event);
    AllocationTotals finish(EventTotals totals);

private:
    void add_phase(const RareEvent& event);
    void add_phase_name(uint64_t string);
    void count_whole_run(AllocationTotals& result) const;

    const TraceReader& reader_;
    RecordCounts records_;
    const std::vector<AllocationShape>& classes_;
    std::vector<uint64_t> class_counts_;
    AllocationSums sums_;
    EventHealth health_;
};

void CountingVisitor::on_rare(uint64_t tick, const RareEvent& event) {
    health_.on_rare(event, tick);
    switch (event.type) {
        case ExtendedType::kMark:
            ++records_.mark;
            add_phase(event);
            return;
        case ExtendedType::kSegment:
            ++records_.segment;
            return;
        case ExtendedType::kOutOfMemory:
            ++records_.out_of_memory;
            return;
        default:
            ++records_.other;
    }
}

void CountingVisitor::add_phase(const RareEvent& event) {
    const auto mark = event.as<format::Mark>();
    if (mark.has_value() && mark->kind == format::MarkKind::kPhaseBegin) {
        add_phase_name(mark->text);
    }
}

void CountingVisitor::add_phase_name(uint64_t string) {
    if (string <= UINT32_MAX) {
        sums_.add_phase_name(reader_.definitions().text(static_cast<uint32_t>(string)));
    }
}

// A block with a deferred free is freed twice in the stream, once in the sum.
void CountingVisitor::count_whole_run(AllocationTotals& result) const {
    result.whole_run_allocs = records_.alloc_class + records_.alloc_inline;
    result.whole_run_frees = records_.free + records_.free_deferred;
    if (reader_.checkpoint() == nullptr) {
        return;
    }
    for (const SummaryView& view : reader_.checkpoint()->views) {
        if (view.measure == format::Measure::kAllocated) {
            result.whole_run_allocs += view.alloc_count;
            result.whole_run_frees += view.free_count;
        }
    }
}

AllocationTotals CountingVisitor::finish(EventTotals totals) {
    AllocationTotals result;
    result.records = records_;
    for (size_t i = 0; i < classes_.size(); ++i) {
        if (class_counts_[i] != 0) {
            sums_.add(classes_[i], class_counts_[i]);
        }
    }
    sums_.move_to(&result);
    count_whole_run(result);
    result.health = health_.finish(reader_, totals);
    result.events = std::move(totals);
    return result;
}

}  // namespace

AllocationTotals count_allocations(const TraceReader& reader, const Progress& progress) {
    if (auto recorded = recorded_allocations(reader)) {
        return *std::move(recorded);
    }
    CountingVisitor visitor(reader);
    EventTotals totals = reader.read_events(visitor, progress);
    return visitor.finish(std::move(totals));
}

}  // namespace peakline::report
