#include "call_replay.h"

#include <optional>
#include <span>
#include <utility>

#include "call_follower.h"
#include "layer_meter.h"
#include "operator_order.h"
#include "report/replay/blocks/block_stream.h"
#include "report/replay/phases/find_ranges.h"

namespace peakline::report {
namespace {

// Maps allocations to named tensors without a search for the many without one.
class NamedTensors {
public:
    NamedTensors(const Definitions& definitions, uint64_t max_alloc_count)
        : definitions_(definitions) {
        has_tensor_.resize(definitions.tensor_blocks.empty() ? 0 : max_alloc_count + 1);
        for (const TensorBlock& block : definitions.tensor_blocks) {
            if (block.ordinal < has_tensor_.size()) {
                has_tensor_[block.ordinal] = true;
            }
        }
    }
    uint32_t of(uint64_t ordinal) const {
        return ordinal < has_tensor_.size() && has_tensor_[ordinal]
                   ? definitions_.tensor_of(ordinal)
                   : 0;
    }

private:
    const Definitions& definitions_;
    std::vector<bool> has_tensor_;
};

class CallReplay : public BlockFollower {
public:
    CallReplay(const BlockStream& stream, const CallRules& rules, CallRequest request)
        : stream_(stream),
          rules_(rules),
          request_(std::move(request)),
          tensors_(stream.definitions(), stream.reader().max_alloc_count()),
          levels_(request_.device),
          window_(request_.during),
          layers_(rules.layers.size()),
          operators_(request_.on_operator),
          follower_(rules, sinks()) {}

    void restore(const Checkpoint& checkpoint);

    void before_event(EventTime at) {
        layers_.set_counting(window_.contains(at.event));
        while (next_moment_ < request_.moments.size() &&
               request_.moments[next_moment_] == at.event) {
            keep_moment(at.tick);
        }
    }

    void on_alloc(const BlockAlloc& block) {
        const AllocationShape& shape = block.shape;
        if (!levels_.counts(shape.device)) {
            return;
        }
        const MemoryLevels before = levels_.before_alloc();
        levels_.on_alloc(shape.block_bytes);
        const uint32_t context = context_of(shape);
        const ContextCall& facts = rules_.contexts[context];
        follower_.on_alloc(
            {block.ordinal, context, shape.block_bytes, block.at.tick, block.at.event},
            before,
            levels_.now());
        if (operators_.is_due()) {
            hand_on_operators();
        }
        layers_.on_alloc(rules_.holders[facts.running],
                         owners_of(block.ordinal, context),
                         shape.block_bytes,
                         facts.phase == Phase::kBackward,
                         levels_.now());
    }

    void on_free(const BlockFree& block) {
        const AllocationShape& shape = block.shape;
        if (!levels_.counts(shape.device)) {
            return;
        }
        const uint32_t context = context_of(shape);
        levels_.on_free(shape.block_bytes, block.kind);
        follower_.on_free(block.ordinal, context, shape.block_bytes, block.kind);
        if (block.leaves(format::Measure::kAllocated)) {
            layers_.on_free(owners_of(block.ordinal, context), shape.block_bytes);
        }
    }

    void on_main_end(EventTime) {
        follower_.end_all(levels_.now());
        layers_.end_main();
        end_ = levels_.now();
    }

    void on_rare(const RareEvent& event, EventTime) {
        if (const auto segment = event.as<format::Segment>()) {
            levels_.on_segment(*segment);
        } else if (const auto scope = event.as<format::Scope>()) {
            follower_.on_scope(static_cast<uint32_t>(scope->thread));
        }
    }

    CallResult finish() {
        while (next_moment_ < request_.moments.size()) {
            keep_moment(stream_.end().tick);
        }
        follower_.end_all(levels_.now());
        operators_.hand_on(UINT64_MAX);
        result_.layers = layers_.take();
        result_.end = end_.value_or(levels_.now());
        result_.knows_reserved = levels_.has_segments() && stream_.reader().checkpoint() == nullptr;
        return std::move(result_);
    }

private:
    CallFollower::Sinks sinks() {
        return {[this](const OperatorCall& call) { operators_.add(call); },
                [this](const LayerCall& call) {
                    if (window_.overlaps(call.begin_event, call.begin_event + 1)) {
                        layers_.on_call(call);
                    }
                    if (call.is_called && request_.on_layer) {
                        request_.on_layer(call);
                    }
                }};
    }

    void hand_on_operators() {
        operators_.hand_on(follower_.oldest_operator());
        while (operators_.waiting_count() > request_.most_waiting_operators) {
            follower_.end_oldest_operator();
            operators_.hand_on(follower_.oldest_operator());
        }
    }

    void keep_moment(uint64_t tick) {
        follower_.end_all(levels_.now());
        result_.moments.push_back({request_.moments[next_moment_++], tick, levels_.now()});
    }

    // The layers that hold a block: those of the module that owns the tensor, else the running
    // ones.
    std::span<const uint32_t> owners_of(uint64_t ordinal, uint32_t context) const {
        const uint32_t tensor = tensors_.of(ordinal);
        const uint32_t owner_chain =
            tensor < rules_.tensor_chains.size() ? rules_.tensor_chains[tensor] : 0;
        return rules_.holders[owner_chain != 0 ? owner_chain : rules_.contexts[context].chain];
    }

    uint32_t context_of(const AllocationShape& shape) const {
        return shape.context < rules_.contexts.size() ? shape.context : 0;
    }

    const BlockStream& stream_;
    const CallRules& rules_;
    CallRequest request_;
    NamedTensors tensors_;
    LevelFollower levels_;
    EventWindow window_;
    LayerMeter layers_;
    OperatorOrder operators_;
    CallFollower follower_;
    CallResult result_;
    size_t next_moment_ = 0;
    std::optional<MemoryLevels> end_;  // at the end of main
};

void CallReplay::restore(const Checkpoint& checkpoint) {
    for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
        const BaselineBlock& block = checkpoint.blocks[ordinal];
        if (!levels_.counts(block.shape.device)) {
            continue;
        }
        levels_.on_alloc(block.shape.block_bytes);
        if (block.is_deferred) {
            levels_.on_free(block.shape.block_bytes, FreeKind::kDeferred);
        } else {
            layers_.on_baseline(owners_of(ordinal, context_of(block.shape)),
                                block.shape.block_bytes);
        }
    }
}

}  // namespace

CallResult replay_calls(const TraceReader& reader,
                        const CallRules& rules,
                        CallRequest request,
                        const Progress& progress) {
    BlockStream stream(reader);
    CallReplay calls(stream, rules, std::move(request));
    stream.run(progress, calls);
    return calls.finish();
}

}  // namespace peakline::report
