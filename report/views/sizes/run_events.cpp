#include "run_events.h"

#include <algorithm>
#include <limits>

#include "input_shapes.h"
#include "report/attribute/grouping.h"
#include "report/replay/allocator_model/allocator_settings.h"
#include "report/replay/blocks/block_stream.h"
#include "report/replay/blocks/ordinal_table.h"

namespace peakline::report {
namespace {

class RunReader : public BlockFollower {
public:
    RunReader(const TraceReader& reader,
              uint32_t device,
              StackLookup& stacks,
              OriginNumbers& origins,
              RunEvents* run)
        : device_(device),
          stacks_(stacks),
          origins_(origins),
          run_(*run),
          blocks_(reader.max_alloc_count()) {}

    void on_alloc(const BlockAlloc& block) {
        const AllocationShape& shape = block.shape;
        if (shape.device != device_) {
            return;
        }
        const auto number = static_cast<uint32_t>(run_.bytes.size());
        blocks_.put(block.ordinal, number + 1);
        run_.origins.push_back(origin_of(shape.context));
        run_.bytes.push_back(shape.requested_bytes);
        const uint64_t least = in_least_blocks(shape.requested_bytes);
        run_.spare.push_back(static_cast<uint32_t>(
            std::min<uint64_t>(shape.block_bytes - std::min(shape.block_bytes, least),
                               std::numeric_limits<uint32_t>::max())));
        run_.events.push_back({RunStep::kAlloc, number, block.at.event});
        if (is_gradient(block.ordinal)) {
            gradients_ += shape.requested_bytes;
            run_.gradient_bytes = std::max(run_.gradient_bytes, gradients_);
        }
    }
    void on_free(const BlockFree& block) {
        const uint32_t entry = blocks_.at(block.ordinal);
        if (entry != 0 && block.leaves(format::Measure::kRequested)) {
            run_.events.push_back({RunStep::kFree, entry - 1, block.at.event});
            gradients_ -= is_gradient(block.ordinal) ? block.shape.requested_bytes : 0;
            blocks_.remove(block.ordinal);
        }
    }
    void on_rare(const RareEvent& event, EventTime at) {
        const auto mark = event.as<format::Mark>();
        if (mark && mark->kind == format::MarkKind::kTracingStarted) {
            run_.events.push_back({RunStep::kTracingStarted, 0, at.event});
        } else if (mark && mark->kind == format::MarkKind::kTracingStopped) {
            run_.events.push_back({RunStep::kTracingStopped, 0, at.event});
        }
    }

private:
    bool is_gradient(uint64_t ordinal) const {
        const Definitions& definitions = stacks_.definitions();
        return definitions.tensor(definitions.tensor_of(ordinal)).kind ==
               format::TensorKind::kGradient;
    }

    uint32_t origin_of(uint32_t context) {
        if (context >= known_.size()) {
            known_.resize(context + size_t{1}, UINT32_MAX);
        }
        if (known_[context] == UINT32_MAX) {
            known_[context] = origins_.of(stacks_, context);
        }
        return known_[context];
    }

    uint32_t device_;
    StackLookup& stacks_;
    OriginNumbers& origins_;
    RunEvents& run_;
    uint64_t gradients_ = 0;       // live
    OrdinalTable blocks_;          // numbers from 1
    std::vector<uint32_t> known_;  // origins by context
};

}  // namespace

uint32_t OriginNumbers::of(StackLookup& stacks, uint32_t context) {
    BlockGroup group;
    group.context = context;
    group.count = 1;
    Label line = row_by_line(stacks, group).label;
    std::string op = row_by_op(stacks, group).label.key;
    const auto [at, is_new] =
        known_.try_emplace({line.key, op}, static_cast<uint32_t>(ops_.size()));
    if (is_new) {
        const auto [known, is_new_line] =
            known_lines_.try_emplace(line.key, static_cast<uint32_t>(lines_.size()));
        if (is_new_line) {
            lines_.push_back(std::move(line));
        }
        line_of_.push_back(known->second);
        ops_.push_back(std::move(op));
    }
    return at->second;
}

RunEvents read_run(const TraceReader& reader,
                   uint32_t device,
                   StackLookup& stacks,
                   OriginNumbers& origins,
                   const Progress& progress) {
    RunEvents run;
    RunReader follower(reader, device, stacks, origins, &run);
    BlockStream stream(reader);
    InputShapes inputs(stacks, device);
    stream.run(progress, follower, inputs);
    run.size = inputs.size();
    uint64_t level = 0;
    follow_run(
        run,
        [&](uint32_t block, int sign) { level += sign > 0 ? run.bytes[block] : -run.bytes[block]; },
        [&](size_t) { run.peak_bytes = std::max(run.peak_bytes, level); });
    return run;
}

}  // namespace peakline::report
