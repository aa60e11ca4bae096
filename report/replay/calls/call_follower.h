// Derives calls of operators and modules from the order of allocations: see Note [Ends of calls].
// Keeps for each thread its running modules, outermost first, and its latest operator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "call_result.h"
#include "call_rules.h"

namespace peakline::report {

// The fields of an allocation that the follower needs.
struct MadeBlock {
    uint64_t ordinal = 0;
    uint32_t context = 0;
    uint64_t bytes = 0;
    uint64_t tick = 0;
    uint64_t event = 0;
};

// An open call. Defined outside of the class that has it as an optional, because clang needs the
// complete type there.
struct OpenOperator {
    OperatorCall call;
    uint64_t first_ordinal = 0;
    uint32_t operator_key = 0;
    std::vector<uint32_t> contexts;  // contexts that allocated in this call
};

class CallFollower {
public:
    // Gets every call when it has ended; layers that began inside another end before it.
    struct Sinks {
        std::function<void(const OperatorCall&)> on_operator;
        std::function<void(const LayerCall&)> on_layer;
    };

    // `rules` must outlive the follower.
    CallFollower(const CallRules& rules, Sinks sinks) : rules_(rules), sinks_(std::move(sinks)) {}

    // `before` and `after`: the levels around the allocation.
    void on_alloc(const MadeBlock& block, const MemoryLevels& before, const MemoryLevels& after);
    // A block of `context` leaves the levels. Call it with the bytes that leave each level.
    void on_free(uint64_t ordinal, uint32_t context, uint64_t bytes, FreeKind kind);
    // A range begins or ends on this thread; no operator call spans it.
    void on_scope(uint32_t thread);
    // The first event of the oldest open operator call; UINT64_MAX: none is open.
    uint64_t oldest_operator();
    void end_oldest_operator();
    // Ends all running calls: a phase begins or ends.
    void end_all(const MemoryLevels& now);

private:
    struct OpenLayer {
        LayerCall call;
        uint64_t first_ordinal = 0;
    };
    struct Track {
        std::vector<OpenLayer> layers;
        std::optional<OpenOperator> operation;
    };

    Track& track_of(uint32_t thread);
    // The track with the oldest open operator call; nullptr when none is open.
    Track* oldest_track();
    bool goes_on(const OpenOperator& open, const ContextCall& facts, uint32_t context) const;
    void follow_operator(Track& track,
                         const MadeBlock& block,
                         const ContextCall& facts,
                         const MemoryLevels& after);
    void follow_layers(Track& track,
                       const MadeBlock& block,
                       const ContextCall& facts,
                       const MemoryLevels& before);
    // `now`: the levels before the event that ends the calls.
    void end_layers(Track& track, size_t keep, const MemoryLevels& now);
    void end_operator(Track& track);

    const CallRules& rules_;
    Sinks sinks_;
    std::map<uint32_t, Track> tracks_;  // by thread
    uint32_t last_thread_ = UINT32_MAX;
    Track* last_track_ = nullptr;
};

}  // namespace peakline::report
