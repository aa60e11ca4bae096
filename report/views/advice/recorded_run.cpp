#include "recorded_run.h"

#include <map>
#include <utility>

#include "report/replay/levels/choose_device.h"

namespace peakline::report {
namespace {

// The keys of BlockOrigin, in its order.
std::vector<const Grouping*> origin_keys() {
    return {&find_grouping("line"),
            &find_grouping("op"),
            &find_grouping("module"),
            &find_grouping("category")};
}

// The lines where the program called methods of its optimizers.
class CallerFollower : public BlockFollower {
public:
    explicit CallerFollower(StackLookup& stacks) : stacks_(stacks) {}

    void on_rare(const RareEvent& event, EventTime at) {
        if (const auto caller = event.as<format::ScopeCaller>()) {
            BlockGroup group;
            group.context =
                stacks_.definitions().known_context(static_cast<uint32_t>(caller->context));
            const auto [line, is_new] = lines_.try_emplace(group.context);
            if (is_new) {
                line->second = row_by_line(stacks_, group).label;
            }
            callers_.emplace(at.event, line->second);
        }
    }
    std::map<uint64_t, Label> take() { return std::move(callers_); }

private:
    StackLookup& stacks_;
    std::map<uint32_t, Label> lines_;  // by context
    std::map<uint64_t, Label> callers_;
};

// Describes every block of a device.
class BlockDescriber : public BlockFollower {
public:
    BlockDescriber(const BlockStream& stream,
                   const AllFacts& lives,
                   const RunFacts& run,
                   std::optional<uint32_t> device,
                   BlockKeys& keys,
                   RecordedRun::Origins& origins,
                   const std::function<void(const RunBlock&)>& see)
        : definitions_(stream.definitions()),
          lives_(lives),
          run_(run),
          device_(device),
          keys_(keys),
          origins_(origins),
          see_(see),
          facets_(keys, run.phases),
          histories_(run.phases, keys.stacks().phase_rules()) {}

    void restore(const Checkpoint& checkpoint) {
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            describe(ordinal, checkpoint.blocks[ordinal].shape);
        }
    }
    void on_alloc(const BlockAlloc& block) { describe(block.ordinal, block.shape); }

private:
    void describe(uint64_t ordinal, const AllocationShape& shape) {
        if (!is_counted(device_, shape.device)) {
            return;
        }
        TrackedBlock block{ordinal, {}, lives_.of(ordinal)};
        BlockGroup& group = block.block;
        group.context = shape.context;
        group.stream = shape.stream;
        group.device = shape.device;
        group.requested_bytes = shape.requested_bytes;
        group.block_bytes = shape.block_bytes;
        group.count = 1;
        group.tensor = definitions_.tensor_of(ordinal);
        group.facets = facets_.of(block);
        const BlockHistory history = histories_.of(block);
        const bool is_at_peak =
            block.facts.alloc_event <= run_.peak.event && run_.peak.event < block.facts.free_event;
        RunBlock described{bytes_of(shape, run_.measure),
                           is_at_peak,
                           definitions_.type_of(ordinal),
                           ordinal,
                           group,
                           block.facts,
                           history,
                           origin_of(group)};
        weights_.see(described, definitions_);
        described.is_weight_copy = weights_.is_one(described);
        see_(described);
    }

    const BlockOrigin& origin_of(const BlockGroup& group) {
        const auto [at, is_new] = origins_.try_emplace(key_of_group(group));
        if (is_new) {
            std::vector<Label> labels = keys_.keyed_row(group).labels;
            at->second = {std::move(labels[0]), labels[1].name, labels[2].name, labels[3].name};
        }
        return at->second;
    }

    const Definitions& definitions_;
    const AllFacts& lives_;
    const RunFacts& run_;
    std::optional<uint32_t> device_;
    BlockKeys& keys_;
    RecordedRun::Origins& origins_;
    const std::function<void(const RunBlock&)>& see_;
    FacetsOfBlocks facets_;
    BlockHistories histories_;
    WeightCopies weights_;
};

std::vector<const PhaseInterval*> outermost_of(const PhaseTable& table) {
    std::vector<const PhaseInterval*> intervals;
    for (const PhaseInterval& interval : table.phases) {
        if (interval.depth == 0) {
            intervals.push_back(&interval);
        }
    }
    return intervals;
}

std::vector<const PhaseInterval*> passes_of(const std::vector<const PhaseInterval*>& outermost,
                                            uint32_t main_thread) {
    std::vector<const PhaseInterval*> passes;
    for (const PhaseInterval* const interval : outermost) {
        if (interval->phase == Phase::kForward && interval->thread == main_thread) {
            passes.push_back(interval);
        }
    }
    return passes;
}

}  // namespace

std::vector<LevelPeak> altered_peaks(const TraceReader& reader,
                                     format::Measure measure,
                                     std::optional<uint32_t> device,
                                     std::vector<LevelChanges> alternatives,
                                     const Progress& progress) {
    BlockStream stream(reader);
    AlteredLevels levels(measure, device, std::move(alternatives));
    stream.run(progress, levels);
    return levels.finish(stream.end());
}

RecordedRun::RecordedRun(const TraceReader& reader,
                         const Selection& selection,
                         StackLookup& stacks,
                         const Progress& progress)
    : reader_(reader),
      stacks_(stacks),
      stream_(reader),
      is_sum_(selection.request.device.kind == DeviceChoiceKind::kAll),
      phases_(stream_, stacks.phase_rules(), {selection.request.measure, is_sum_}),
      lives_(reader, stacks.phase_rules(), selection.request.measure, phases_) {
    const ReplayRequest& request = selection.request;
    CallerFollower callers(stacks);
    stream_.run(progress, phases_, lives_, callers);
    found_ = phases_.finish();
    device_ =
        choose_device(found_.devices, is_sum_ ? DeviceChoice() : request.device, reader.name());
    const std::vector<const PhaseInterval*> outermost = outermost_of(found_.table);
    facts_.emplace(RunFacts{found_.table,
                            reader.definitions(),
                            {},
                            outermost,
                            passes_of(outermost, found_.table.main_thread),
                            callers.take(),
                            request.measure});
    facts_->peak = altered_peaks(reader, request.measure, device_number(), {}, progress).front();
}

void RecordedRun::follow_blocks(const Progress& progress,
                                const std::function<void(const RunBlock&)>& see) {
    BlockKeys keys(origin_keys(), origin_keys().size(), stacks_);
    BlockStream again(reader_);
    BlockDescriber describer(
        again, lives_, *facts_, device_number(), keys, origins_.emplace_back(), see);
    again.run(progress, describer);
}

}  // namespace peakline::report
