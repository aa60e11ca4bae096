#include "native_stepper.h"

namespace peakline::capture {
namespace {

// Reads this thread's stack, not a variable: AddressSanitizer guards the room between variables.
[[gnu::no_sanitize("address")]] uint64_t word_at(uint64_t address) {
    return *reinterpret_cast<const uint64_t*>(address);
}

// A whole word of the stack that the walk has not passed yet.
bool is_live_slot(uint64_t slot, const Registers& at, const StackBounds& bounds) {
    return slot >= at.cfa && slot < bounds.high && slot % 8 == 0;
}

// Reads the caller's return address and interprets it. Zero ends the chain, as for libunwind; other
// values that are not user addresses have no rule.
inline StepResult enter_caller(Registers& registers, uint64_t cfa) {
    constexpr uint64_t kFirstAddress = 4096;
    constexpr uint64_t kEndAddress = uint64_t{1} << 47U;
    registers.cfa = cfa;
    registers.return_address = word_at(cfa - 8);
    if (registers.return_address - kFirstAddress < kEndAddress - kFirstAddress) {
        return StepResult::kCaller;
    }
    return registers.return_address == 0 ? StepResult::kOutermost : StepResult::kUnknown;
}

StepResult step_through_rbp(UnwindRule rule,
                            Registers& registers,
                            const StackBounds& bounds,
                            FrameExit& exit) {
    const uint64_t cfa_slot = registers.rbp + static_cast<uint64_t>(int64_t{rule.cfa_offset});
    const uint64_t rbp_slot = registers.rbp;
    if (!is_live_slot(cfa_slot, registers, bounds) || !is_live_slot(rbp_slot, registers, bounds)) {
        return StepResult::kUnknown;
    }
    const uint64_t cfa = word_at(cfa_slot);
    if (cfa <= registers.cfa || cfa > bounds.high || cfa % 8 != 0) {
        return StepResult::kUnknown;
    }
    registers.rbp = word_at(rbp_slot);
    const StepResult result = enter_caller(registers, cfa);
    exit = FrameExit{
        cfa, cfa_slot, rbp_slot, registers.rbp, registers.return_address, RbpUse::kForCfa};
    return result;
}

StepResult result_without_caller(UnwindRule rule) {
    switch (rule.kind) {
        case RuleKind::kOutermost:
            return StepResult::kOutermost;
        case RuleKind::kCodeChanged:
            return StepResult::kCodeChanged;
        default:
            return StepResult::kUnknown;
    }
}

// exit.cfa stays 0 when the frame was not left.
inline __attribute__((always_inline)) StepResult step(Registers& registers,
                                                      const StackBounds& bounds,
                                                      uint64_t epoch,
                                                      FrameExit& exit) {
    const UnwindRule rule = find_rule(registers.return_address, epoch);
    const bool from_rbp = rule.kind == RuleKind::kFromRbp;
    if (!from_rbp && rule.kind != RuleKind::kFromRsp) {
        exit.cfa = 0;
        return rule.kind == RuleKind::kThroughRbp ? step_through_rbp(rule, registers, bounds, exit)
                                                  : result_without_caller(rule);
    }
    const uint64_t cfa = (from_rbp ? registers.rbp : registers.cfa) +
                         static_cast<uint64_t>(int64_t{rule.cfa_offset});
    if (cfa <= registers.cfa || cfa > bounds.high || cfa % 8 != 0) {
        exit.cfa = 0;
        return StepResult::kUnknown;
    }
    exit.cfa = cfa;
    exit.cfa_slot = 0;
    exit.rbp_slot = 0;
    exit.rbp_use = from_rbp ? RbpUse::kForCfa : RbpUse::kKept;
    if (rule.rbp_offset != kRbpKept) {
        const uint64_t slot = cfa + static_cast<uint64_t>(int64_t{rule.rbp_offset});
        if (!is_live_slot(slot, registers, bounds)) {
            exit.cfa = 0;
            return StepResult::kUnknown;
        }
        registers.rbp = word_at(slot);
        exit.rbp_slot = slot;
        exit.rbp = registers.rbp;
        exit.rbp_use = from_rbp ? RbpUse::kForCfa : RbpUse::kReloaded;
    }
    const StepResult result = enter_caller(registers, cfa);
    exit.return_address = registers.return_address;
    return result;
}

}  // namespace

StepResult step_to_caller(Registers& registers, const StackBounds& bounds, uint64_t epoch) {
    FrameExit exit;  // NOLINT(cppcoreguidelines-pro-type-member-init): written by step
    return step(registers, bounds, epoch, exit);
}

WalkResult walk_stack(
    const Registers& start, const StackBounds& bounds, uint64_t epoch, void** frames, Walk& walk) {
    Registers at = start;
    size_t count = 0;
    size_t exit_count = 0;
    StepResult result = StepResult::kCaller;
    while (count < kMaxNativeFrames) {
        frames[count++] = reinterpret_cast<void*>(at.return_address);
        result = step(at, bounds, epoch, walk.exits[exit_count]);
        if (result == StepResult::kCaller) {
            ++exit_count;
            continue;
        }
        if (result == StepResult::kOutermost && walk.exits[exit_count].cfa != 0) {
            ++exit_count;  // the word that marks "no caller" counts as well
        }
        break;
    }
    walk.frame_count = count;
    walk.exit_count = exit_count;
    switch (result) {
        case StepResult::kCaller:
            return WalkResult::kTruncated;
        case StepResult::kOutermost:
            return WalkResult::kComplete;
        case StepResult::kCodeChanged:
            return WalkResult::kCodeChanged;
        default:
            return WalkResult::kUnknown;
    }
}

}  // namespace peakline::capture
