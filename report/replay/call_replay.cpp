#include "call_replay.h"

#include <optional>
#include <span>
#include <utility>

#include "allocation_table.h"
#include "call_follower.h"
#include "layer_meter.h"
#include "operator_order.h"

namespace peakline::report {
namespace {

// Whether an allocation is the storage of a named tensor, without a search for those that are not.
class ToldTensors {
public:
    ToldTensors(const Definitions& definitions, uint64_t max_alloc_count)
        : definitions_(definitions) {
        is_told_.resize(definitions.tensor_blocks.empty() ? 0 : max_alloc_count + 1);
        for (const TensorBlock& block : definitions.tensor_blocks) {
            if (block.ordinal < is_told_.size()) {
                is_told_[block.ordinal] = true;
            }
        }
    }
    uint32_t of(uint64_t ordinal) const {
        return ordinal < is_told_.size() && is_told_[ordinal] ? definitions_.tensor_of(ordinal) : 0;
    }

private:
    const Definitions& definitions_;
    std::vector<bool> is_told_;
};

class CallVisitor {
public:
    CallVisitor(const TraceReader& reader, const CallRules& rules, CallRequest request)
        : reader_(reader),
          rules_(rules),
          request_(std::move(request)),
          table_(reader.definitions().classes.items(), reader.max_alloc_count()),
          told_(reader.definitions(), reader.max_alloc_count()),
          levels_(request_.device),
          layers_(rules.layers.size()),
          operators_(request_.on_operator),
          follower_(rules, sinks()) {
        if (reader.checkpoint() != nullptr) {
            restore_checkpoint(*reader.checkpoint());
        }
    }

    void on_alloc_class(uint64_t ordinal, uint64_t tick, uint32_t class_id, uint64_t) {
        pass_event(tick);
        if (const AllocationShape* shape = table_.add_class(ordinal, class_id)) {
            add(ordinal, tick, *shape);
        }
    }

    void on_alloc_inline(uint64_t ordinal, uint64_t tick, const AllocationShape& shape, uint64_t) {
        pass_event(tick);
        AllocationShape known = shape;
        known.context = reader_.definitions().known_context(shape.context);
        table_.add_inline(ordinal, known);
        add(ordinal, tick, known);
    }

    void on_free(uint64_t ordinal, uint64_t tick, FreeKind kind, uint32_t) {
        pass_event(tick);
        const bool was_deferred = table_.is_deferred(ordinal);
        if (!table_.can_free(ordinal, kind)) {
            return;
        }
        const AllocationShape* shape = table_.shape(ordinal);
        if (shape != nullptr && levels_.counts(shape->device)) {
            end_block(ordinal, *shape, was_deferred ? FreeKind::kCompleted : kind);
        }
        table_.free(ordinal, kind);
    }

    void on_unmatched_free(uint64_t tick) { pass_event(tick); }

    void on_rare(uint64_t tick, const RareEvent& event) {
        pass_event(tick);
        if (event.type == format::ExtendedType::kSegment) {
            levels_.on_segment(event);
        } else if (event.type == format::ExtendedType::kScope) {
            follower_.on_scope(static_cast<uint32_t>(event.fields[1]));
        } else if (event.type == format::ExtendedType::kMark &&
                   event.fields[0] == static_cast<uint64_t>(format::MarkKind::kMainEnd) &&
                   !end_.has_value()) {
            follower_.end_all(levels_.now());
            layers_.end_main();
            end_ = levels_.now();
        }
    }

    CallResult finish(const EventTotals& totals) {
        while (next_moment_ < request_.moments.size()) {
            keep_moment(totals.last_tick);
        }
        follower_.end_all(levels_.now());
        operators_.hand_on(UINT64_MAX);
        result_.layers = layers_.take();
        result_.end = end_.value_or(levels_.now());
        result_.knows_reserved = levels_.has_segments() && reader_.checkpoint() == nullptr;
        return std::move(result_);
    }

private:
    CallFollower::Sinks sinks() {
        return {[this](const OperatorCall& call) { operators_.add(call); },
                [this](const LayerCall& call) {
                    layers_.on_call(call);
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

    void pass_event(uint64_t tick) {
        while (next_moment_ < request_.moments.size() && request_.moments[next_moment_] == event_) {
            keep_moment(tick);
        }
        ++event_;
    }

    void keep_moment(uint64_t tick) {
        follower_.end_all(levels_.now());
        result_.moments.push_back({request_.moments[next_moment_++], tick, levels_.now()});
    }

    // The layers a block belongs to: of the module that owns the tensor, else those that ran.
    std::span<const uint32_t> owners_of(uint64_t ordinal, uint32_t context) const {
        const uint32_t tensor = told_.of(ordinal);
        const uint32_t told =
            tensor < rules_.tensor_chains.size() ? rules_.tensor_chains[tensor] : 0;
        return rules_.holders[told != 0 ? told : rules_.contexts[context].chain];
    }

    void add(uint64_t ordinal, uint64_t tick, const AllocationShape& shape) {
        if (!levels_.counts(shape.device)) {
            return;
        }
        const MemoryLevels before = levels_.before_alloc();
        levels_.on_alloc(shape.block_bytes);
        const uint32_t context = shape.context < rules_.contexts.size() ? shape.context : 0;
        const ContextCall& said = rules_.contexts[context];
        follower_.on_alloc(
            {ordinal, context, shape.block_bytes, tick, event_ - 1}, before, levels_.now());
        if (operators_.is_due()) {
            hand_on_operators();
        }
        layers_.on_alloc(rules_.holders[said.running],
                         owners_of(ordinal, context),
                         shape.block_bytes,
                         said.phase == Phase::kBackward,
                         levels_.now());
    }

    void end_block(uint64_t ordinal, const AllocationShape& shape, FreeKind kind) {
        const uint32_t context = shape.context < rules_.contexts.size() ? shape.context : 0;
        levels_.on_free(shape.block_bytes, kind);
        follower_.on_free(ordinal, context, shape.block_bytes, kind);
        if (kind != FreeKind::kCompleted) {
            layers_.on_free(owners_of(ordinal, context), shape.block_bytes);
        }
    }

    void restore_checkpoint(const Checkpoint& checkpoint) {
        table_.restore(checkpoint);
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            const BaselineBlock& block = checkpoint.blocks[ordinal];
            if (!levels_.counts(block.shape.device)) {
                continue;
            }
            levels_.on_alloc(block.shape.block_bytes);
            if (block.is_deferred) {
                levels_.on_free(block.shape.block_bytes, FreeKind::kDeferred);
            } else {
                const bool is_known = block.shape.context < rules_.contexts.size();
                layers_.on_baseline(owners_of(ordinal, is_known ? block.shape.context : 0),
                                    block.shape.block_bytes);
            }
        }
    }

    const TraceReader& reader_;
    const CallRules& rules_;
    CallRequest request_;
    AllocationTable table_;
    ToldTensors told_;
    LevelFollower levels_;
    LayerMeter layers_;
    OperatorOrder operators_;
    CallFollower follower_;
    CallResult result_;
    size_t next_moment_ = 0;
    uint64_t event_ = 0;
    std::optional<MemoryLevels> end_;  // where main ended
};

}  // namespace

CallResult replay_calls(const TraceReader& reader,
                        const CallRules& rules,
                        CallRequest request,
                        const Progress& progress) {
    CallVisitor visitor(reader, rules, std::move(request));
    const EventTotals totals = reader.read_events(visitor, progress);
    return visitor.finish(totals);
}

}  // namespace peakline::report
