// The step from a call site to its caller: one rule for each return address, derived from the
// compiler's unwind tables (DWARF 5, section 6.4 "Call Frame Information"; x86-64 psABI, table 3.36
// for the register numbers; LSB Core, section 10.6 for .eh_frame). unwind_rules calls it for new
// addresses. Reads the tables of loaded code, allocates nothing.
#pragma once

#include <cstdint>

namespace peakline::capture {

enum class RuleKind : uint8_t {
    kUnknown,      // none of these: libunwind has to walk this stack
    kFromRsp,      // CFA = rsp + cfa_offset
    kFromRbp,      // CFA = rbp + cfa_offset
    kThroughRbp,   // CFA = *(rbp + cfa_offset), caller's rbp at *rbp: a re-aligned frame of GCC
    kOutermost,    // no caller: the start of a thread or of the program
    kCodeChanged,  // libraries were unloaded since the walk began: begin again
};

// The CFA (canonical frame address) is rsp before the call; the return address is 8 below it.
struct UnwindRule {
    RuleKind kind = RuleKind::kUnknown;
    uint8_t unused = 0;
    int16_t rbp_offset = 0;  // caller's rbp at CFA + rbp_offset, kRbpKept: still in rbp
    int32_t cfa_offset = 0;
};
static_assert(sizeof(UnwindRule) == 8, "an atomic word in unwind_rules");

inline constexpr int16_t kRbpKept = 0;  // no register is saved at the CFA itself

// The rule while the instruction at `code_address` is executing.
UnwindRule derive_rule(uint64_t code_address);

}  // namespace peakline::capture
