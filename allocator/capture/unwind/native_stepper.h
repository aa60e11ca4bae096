// Walks this thread's stack by the rules of unwind_rules: from registers to frames. The walk reads
// only words between its start and the stack's end, whatever the rules contain: a wrong rule could
// give a wrong stack, never a fault. Allocates nothing, takes none of our locks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/capture/threads/thread_state.h"
#include "cfi_rule.h"
#include "unwind_rules.h"

namespace peakline::capture {

// The registers when a frame returns: its return address, its caller's rsp before the call's
// return, and rbp.
struct Registers {
    uint64_t return_address;
    uint64_t cfa;  // rsp right after the return
    uint64_t rbp;
};

struct StackBounds {
    uint64_t low = 0;
    uint64_t high = 0;  // the first byte after the stack
    bool has(const Registers& registers) const {
        return registers.cfa > low && registers.cfa <= high && registers.cfa % 8 == 0;
    }
};

enum class RbpUse : uint8_t { kReloaded, kKept, kForCfa };

// The words that led from a frame to its caller; for stack_memo.
struct FrameExit {
    uint64_t cfa;       // the return address was read at cfa - 8
    uint64_t cfa_slot;  // address that held the CFA itself, 0: computed
    uint64_t rbp_slot;  // address that rbp was reloaded from, 0: no reload
    uint64_t rbp;       // its value then
    uint64_t return_address;
    RbpUse rbp_use;
};

enum class StepResult : uint8_t { kCaller, kOutermost, kUnknown, kCodeChanged };

// Room for a walk; too large for the stack of a small thread.
struct Walk {
    FrameExit exits[kMaxNativeFrames];
    size_t exit_count;
    size_t frame_count;
};

enum class WalkResult : uint8_t { kComplete, kTruncated, kUnknown, kCodeChanged };

// Fills frames[0..walk.frame_count), leaf first, at most kMaxNativeFrames. kUnknown: libunwind has
// to walk this stack. kCodeChanged: take the new epoch and call again.
WalkResult walk_stack(
    const Registers& start, const StackBounds& bounds, uint64_t epoch, void** frames, Walk& walk);

// Makes one step and does not list the words. `registers` become the caller's.
StepResult step_to_caller(Registers& registers, const StackBounds& bounds, uint64_t epoch);

}  // namespace peakline::capture
