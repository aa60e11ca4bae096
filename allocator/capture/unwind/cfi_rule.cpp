#include "cfi_rule.h"

#include <cstddef>
#include <limits>

#include "cfi_entry.h"

namespace peakline::capture {
namespace {

// Numbers of the x86-64 psABI.
constexpr uint64_t kRbp = 6;
constexpr uint64_t kRsp = 7;
constexpr uint64_t kReturnAddress = 16;

enum class Saved : uint8_t { kSame, kUndefined, kAtCfaOffset, kExpression, kOther };

// Location of the caller's value of one register.
struct RegisterRule {
    Saved saved = Saved::kSame;
    int64_t offset = 0;
    const uint8_t* expression = nullptr;
    uint64_t expression_bytes = 0;
};

// One row of the table that a CFI program describes, with only the registers that we follow.
struct Row {
    const uint8_t* cfa_expression = nullptr;  // nullptr: CFA = cfa_register + cfa_offset
    uint64_t cfa_expression_bytes = 0;
    uint64_t cfa_register = 0;
    int64_t cfa_offset = 0;
    RegisterRule rbp;
    RegisterRule rsp;
    RegisterRule return_address;
};

// An expression: its length, then its bytes.
RegisterRule read_expression(Cursor& code) {
    RegisterRule rule{Saved::kExpression, 0, nullptr, code.unsigned_leb()};
    rule.expression = code.at;
    code.at += rule.expression_bytes;
    return rule;
}

// Runs the instructions that lead to the row of one address. DWARF 5, sections 6.4.2 and 7.24.
class Program {
public:
    Program(const CfiEntry& function, uint64_t target)
        : function_(function), target_(target), location_(function.start) {}

    // False for an unknown instruction.
    bool run() {
        if (!run(function_.common)) {
            return false;
        }
        initial_ = row_;
        return run(function_.specific);
    }
    const Row& row() const { return row_; }

private:
    static constexpr size_t kMaxRemembered = 16;

    bool run(Cursor code) {
        while (code.at < code.end && location_ <= target_) {
            const auto instruction = code.fixed<uint8_t>();
            const uint8_t operand = instruction & 0x3fU;
            switch (instruction >> 6U) {
                case 1:  // advance_loc
                    advance(operand);
                    break;
                case 2:  // offset
                    set(operand, at_offset(code.unsigned_leb()));
                    break;
                case 3:  // restore
                    restore(operand);
                    break;
                default:
                    if (!run_extended(instruction, code)) {
                        return false;
                    }
            }
        }
        return true;
    }

    bool run_extended(uint8_t instruction, Cursor& code) {
        switch (instruction) {
            case 0x00:  // nop
                return true;
            case 0x02:  // advance_loc1
                advance(code.fixed<uint8_t>());
                return true;
            case 0x03:  // advance_loc2
                advance(code.fixed<uint16_t>());
                return true;
            case 0x04:  // advance_loc4
                advance(code.fixed<uint32_t>());
                return true;
            case 0x0a:  // remember_state
                if (remembered_count_ == kMaxRemembered) {
                    return false;
                }
                remembered_[remembered_count_++] = row_;
                return true;
            case 0x0b:  // restore_state
                if (remembered_count_ == 0) {
                    return false;
                }
                row_ = remembered_[--remembered_count_];
                return true;
            case 0x2e:  // GNU_args_size: concerns exceptions only
                code.unsigned_leb();
                return true;
            default:
                return instruction >= 0x0c && instruction <= 0x13 && instruction != 0x10 &&
                               instruction != 0x11
                           ? run_cfa(instruction, code)
                           : run_register(instruction, code);
        }
    }

    // Instructions that define the CFA.
    bool run_cfa(uint8_t instruction, Cursor& code) {
        if (instruction == 0x0f) {  // def_cfa_expression
            const RegisterRule rule = read_expression(code);
            row_.cfa_expression = rule.expression;
            row_.cfa_expression_bytes = rule.expression_bytes;
            return true;
        }
        const bool has_register = instruction != 0x0e && instruction != 0x13;
        const bool has_offset = instruction != 0x0d;
        const bool is_signed = instruction == 0x12 || instruction == 0x13;  // the _sf forms
        row_.cfa_expression = nullptr;
        if (has_register) {
            row_.cfa_register = code.unsigned_leb();
        }
        if (has_offset) {
            row_.cfa_offset = is_signed ? code.signed_leb() * function_.data_unit
                                        : static_cast<int64_t>(code.unsigned_leb());
        }
        return true;
    }

    // Instructions that give the location of a caller's register.
    bool run_register(uint8_t instruction, Cursor& code) {
        const uint64_t target = code.unsigned_leb();
        switch (instruction) {
            case 0x05:  // offset_extended
                set(target, at_offset(code.unsigned_leb()));
                return true;
            case 0x06:  // restore_extended
                restore(target);
                return true;
            case 0x07:  // undefined
                set(target, RegisterRule{Saved::kUndefined, 0, nullptr, 0});
                return true;
            case 0x08:  // same_value
                set(target, RegisterRule{});
                return true;
            case 0x09:  // register
            case 0x14:  // val_offset
                code.unsigned_leb();
                set(target, RegisterRule{Saved::kOther, 0, nullptr, 0});
                return true;
            case 0x10:  // expression
                set(target, read_expression(code));
                return true;
            case 0x11: {  // offset_extended_sf
                const int64_t offset = code.signed_leb() * function_.data_unit;
                set(target, RegisterRule{Saved::kAtCfaOffset, offset, nullptr, 0});
                return true;
            }
            case 0x15:  // val_offset_sf
                code.signed_leb();
                set(target, RegisterRule{Saved::kOther, 0, nullptr, 0});
                return true;
            case 0x16:  // val_expression
                read_expression(code);
                set(target, RegisterRule{Saved::kOther, 0, nullptr, 0});
                return true;
            default:
                return false;
        }
    }

    void advance(uint64_t units) { location_ += units * function_.code_unit; }
    RegisterRule at_offset(uint64_t units) const {
        return {Saved::kAtCfaOffset, static_cast<int64_t>(units) * function_.data_unit, nullptr, 0};
    }
    void set(uint64_t target, const RegisterRule& rule) {
        if (target == kRbp) {
            row_.rbp = rule;
        } else if (target == kRsp) {
            row_.rsp = rule;
        } else if (target == kReturnAddress) {
            row_.return_address = rule;
        }
    }
    void restore(uint64_t target) {
        if (target == kRbp) {
            row_.rbp = initial_.rbp;
        } else if (target == kRsp) {
            row_.rsp = initial_.rsp;
        } else if (target == kReturnAddress) {
            row_.return_address = initial_.return_address;
        }
    }

    const CfiEntry& function_;
    uint64_t target_;
    uint64_t location_;
    Row row_{};
    Row initial_{};  // as the CIE sets it, for restore
    Row remembered_[kMaxRemembered] = {};
    size_t remembered_count_ = 0;
};

bool fits(int64_t offset) {
    return offset >= std::numeric_limits<int32_t>::min() &&
           offset <= std::numeric_limits<int32_t>::max();
}

// CFA = rsp + o or rbp + o.
UnwindRule rule_from_register(const Row& row) {
    const bool from_rsp = row.cfa_register == kRsp;
    if ((!from_rsp && row.cfa_register != kRbp) || !fits(row.cfa_offset)) {
        return {};
    }
    UnwindRule rule{from_rsp ? RuleKind::kFromRsp : RuleKind::kFromRbp,
                    0,
                    kRbpKept,
                    static_cast<int32_t>(row.cfa_offset)};
    if (row.rbp.saved == Saved::kSame) {
        return rule;
    }
    // Below the return address, and inside this frame.
    const bool inside = row.rbp.offset <= -16 &&
                        row.rbp.offset >= std::numeric_limits<int16_t>::min() &&
                        (!from_rsp || row.rbp.offset >= -row.cfa_offset);
    if (row.rbp.saved != Saved::kAtCfaOffset || !inside) {
        return {};
    }
    rule.rbp_offset = static_cast<int16_t>(row.rbp.offset);
    return rule;
}

// The form that GCC writes for a frame it re-aligned: the CFA's value was saved at rbp + o, and the
// caller's rbp at rbp. Any other expression is left to libunwind.
UnwindRule rule_from_expression(const Row& row) {
    constexpr uint8_t kBreg6 = 0x76;  // DW_OP_breg6: rbp plus a signed offset
    constexpr uint8_t kDeref = 0x06;
    Cursor cfa{row.cfa_expression, row.cfa_expression + row.cfa_expression_bytes};
    if (row.cfa_expression_bytes < 3 || cfa.fixed<uint8_t>() != kBreg6) {
        return {};
    }
    const int64_t offset = cfa.signed_leb();
    if (cfa.at + 1 != cfa.end || *cfa.at != kDeref || !fits(offset)) {
        return {};
    }
    const bool rbp_at_rbp = row.rbp.saved == Saved::kExpression && row.rbp.expression_bytes == 2 &&
                            row.rbp.expression[0] == kBreg6 && row.rbp.expression[1] == 0;
    if (!rbp_at_rbp) {
        return {};
    }
    return {RuleKind::kThroughRbp, 0, kRbpKept, static_cast<int32_t>(offset)};
}

}  // namespace

UnwindRule derive_rule(uint64_t code_address) {
    CfiEntry function;
    if (!find_cfi_entry(code_address, &function)) {
        return {};
    }
    Program program(function, code_address);
    if (!program.run()) {
        return {};
    }
    const Row& row = program.row();
    if (row.return_address.saved == Saved::kUndefined) {
        return {RuleKind::kOutermost, 0, 0, 0};
    }
    const bool usual = !function.signal_frame && row.rsp.saved == Saved::kSame &&
                       row.return_address.saved == Saved::kAtCfaOffset &&
                       row.return_address.offset == -8;
    if (!usual) {
        return {};
    }
    return row.cfa_expression == nullptr ? rule_from_register(row) : rule_from_expression(row);
}

}  // namespace peakline::capture
