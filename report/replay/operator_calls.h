// Finds the operator call that made a block, as far as allocations show. An allocation belongs to
// the previous call of its thread, unless its stack differs or its context occurs again. Needed for
// blocks that a call frees itself. Used by the followers that keep facts of blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "report/replay/values/phase.h"

namespace peakline::report {

class OperatorCalls {
public:
    // `rules` must outlive this.
    explicit OperatorCalls(const PhaseRules& rules) : rules_(rules) {}

    // Calls freed_within(ordinal) for each block that the running call has freed itself: it
    // allocates again.
    template <class FreedWithin>
    void on_alloc(uint64_t ordinal, uint32_t context, uint32_t thread, FreedWithin freed_within) {
        Call& call = call_of(context, thread);
        for (const uint64_t freed : call.freed) {
            freed_within(freed);
        }
        call.freed.clear();
        call.contexts.push_back(context);
        call.live.push_back(ordinal);
    }

    // True when the call that made the block certainly runs: an earlier block of the call, such as
    // its result, is still live.
    bool on_free(uint64_t ordinal) {
        Call* const call = running_call_of(ordinal);
        if (call == nullptr) {
            return false;
        }
        call->freed.push_back(ordinal);
        return !call->live.empty() && call->live.front() < ordinal;
    }

private:
    struct Call {
        uint32_t operator_key = 0;
        std::vector<uint32_t> contexts = {};  // contexts that allocated in this call
        std::vector<uint64_t> live = {};      // ordinals of its blocks
        std::vector<uint64_t> freed = {};     // freed ones of its blocks

        // Reuses the memory of the lists.
        void begin(uint32_t key) {
            operator_key = key;
            contexts.clear();
            live.clear();
            freed.clear();
        }
    };

    // The call that made this block, if it is the latest of its thread; removes the block from it.
    Call* running_call_of(uint64_t ordinal) {
        for (auto& [thread, call] : calls_) {
            const auto found = std::lower_bound(call.live.begin(), call.live.end(), ordinal);
            if (found != call.live.end() && *found == ordinal) {
                call.live.erase(found);
                return &call;
            }
        }
        return nullptr;
    }

    Call& call_of(uint32_t context, uint32_t thread) {
        const ContextPhase phase =
            context < rules_.contexts.size() ? rules_.contexts[context] : ContextPhase();
        const auto [found, is_new] = calls_.try_emplace(thread, Call{phase.operator_key});
        Call& call = found->second;
        const bool again =
            std::find(call.contexts.begin(), call.contexts.end(), context) != call.contexts.end();
        if (again || call.operator_key != phase.operator_key) {
            call.begin(phase.operator_key);
        }
        return call;
    }

    const PhaseRules& rules_;
    std::map<uint32_t, Call> calls_;  // by thread
};

}  // namespace peakline::report
