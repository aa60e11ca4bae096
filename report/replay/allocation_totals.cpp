#include "allocation_totals.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

namespace peakline::report {
namespace {

using format::ExtendedType;

struct PlaceKey {
    uint32_t context;
    uint32_t stream;
    uint32_t device;
    bool operator==(const PlaceKey&) const = default;
};

struct PlaceKeyHash {
    size_t operator()(const PlaceKey& key) const {
        const uint64_t mixed =
            (uint64_t{key.context} << 32) ^ (uint64_t{key.stream} << 8) ^ key.device;
        return static_cast<size_t>((mixed * 0x9E3779B97F4A7C15ULL) >> 16);
    }
};

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
        add(counted, 1);
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
    void add(const AllocationShape& shape, uint64_t count) {
        AllocationSum& sum = sums_[{shape.context, shape.stream, shape.device}];
        sum.count += count;
        sum.requested_bytes += count * shape.requested_bytes;
        sum.block_bytes += count * shape.block_bytes;
        requested_sizes_[std::bit_width(shape.requested_bytes)] += count;
        block_sizes_[std::bit_width(shape.block_bytes)] += count;
    }

    void add_phase(const RareEvent& event);
    void add_phase_name(uint64_t string);
    void count_whole_run(AllocationTotals& result) const;

    const TraceReader& reader_;
    RecordCounts records_;
    const std::vector<AllocationShape>& classes_;
    std::vector<uint64_t> class_counts_;
    std::unordered_map<PlaceKey, AllocationSum, PlaceKeyHash> sums_;
    SizeHistogram requested_sizes_ = {};
    SizeHistogram block_sizes_ = {};
    std::vector<std::string> phases_;
    EventHealth health_;
};

void CountingVisitor::on_rare(uint64_t, const RareEvent& event) {
    health_.on_rare(event);
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
    if (event.fields[0] == static_cast<uint64_t>(format::MarkKind::kPhaseBegin)) {
        add_phase_name(event.fields[2]);
    }
}

void CountingVisitor::add_phase_name(uint64_t string) {
    if (string > UINT32_MAX) {
        return;
    }
    const std::string name(reader_.definitions().text(static_cast<uint32_t>(string)));
    constexpr size_t kPhasesListed = 1000;
    if (phases_.size() < kPhasesListed &&
        std::find(phases_.begin(), phases_.end(), name) == phases_.end()) {
        phases_.push_back(name);
    }
}

// A block given up for later is freed twice in the stream, once in the sum.
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
            add(classes_[i], class_counts_[i]);
        }
    }
    for (auto& [key, sum] : sums_) {
        sum.context = key.context;
        sum.stream = key.stream;
        sum.device = key.device;
        result.sums.push_back(sum);
    }
    result.requested_sizes = requested_sizes_;
    result.block_sizes = block_sizes_;
    result.phases = std::move(phases_);
    count_whole_run(result);
    result.health = health_.finish(reader_, totals);
    result.events = std::move(totals);
    return result;
}

}  // namespace

AllocationTotals count_allocations(const TraceReader& reader, const Progress& progress) {
    CountingVisitor visitor(reader);
    EventTotals totals = reader.read_events(visitor, progress);
    return visitor.finish(std::move(totals));
}

}  // namespace peakline::report
