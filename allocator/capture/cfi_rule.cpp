#include "cfi_rule.h"

#include <cstddef>
#include <cstring>
#include <limits>

extern "C" {
// libgcc's own lookup, exported since GCC 3.0 for debuggers and other languages' runtimes. Since
// glibc 2.35 it asks _dl_find_object, which takes no lock.
struct dwarf_eh_bases {  // NOLINT(readability-identifier-naming): libgcc's name
    void* text;
    void* data;
    void* function;
};
const void* _Unwind_Find_FDE(void* code_address, dwarf_eh_bases* bases);
}

namespace peakline::capture {
namespace {

// Numbers of the x86-64 psABI.
constexpr uint64_t kRbp = 6;
constexpr uint64_t kRsp = 7;
constexpr uint64_t kReturnAddress = 16;

enum class Place : uint8_t { kSame, kUndefined, kAtCfaOffset, kExpression, kOther };

// Where the caller's value of one register is found.
struct RegisterRule {
    Place place = Place::kSame;
    int64_t offset = 0;
    const uint8_t* expression = nullptr;
    uint64_t expression_bytes = 0;
};

// One row of the table that a CFI program describes, reduced to the registers we follow.
struct Row {
    const uint8_t* cfa_expression = nullptr;  // nullptr: CFA = cfa_register + cfa_offset
    uint64_t cfa_expression_bytes = 0;
    uint64_t cfa_register = 0;
    int64_t cfa_offset = 0;
    RegisterRule rbp;
    RegisterRule rsp;
    RegisterRule return_address;
};

struct Cursor {
    const uint8_t* at;
    const uint8_t* end;

    template <class T>
    T fixed() {
        T value{};
        std::memcpy(&value, at, sizeof value);
        at += sizeof value;
        return value;
    }
    uint64_t unsigned_leb() {
        uint64_t value = 0;
        unsigned shift = 0;
        uint8_t byte = 0;
        do {
            byte = *at++;
            value |= shift < 64 ? uint64_t{byte & 0x7fU} << shift : 0;
            shift += 7;
        } while ((byte & 0x80U) != 0);
        return value;
    }
    int64_t signed_leb() {
        uint64_t value = 0;
        unsigned shift = 0;
        uint8_t byte = 0;
        do {
            byte = *at++;
            value |= shift < 64 ? uint64_t{byte & 0x7fU} << shift : 0;
            shift += 7;
        } while ((byte & 0x80U) != 0);
        if (shift < 64 && (byte & 0x40U) != 0) {
            value |= ~uint64_t{0} << shift;
        }
        return static_cast<int64_t>(value);
    }
    // An expression: its length, then its bytes.
    RegisterRule expression() {
        RegisterRule rule{Place::kExpression, 0, nullptr, unsigned_leb()};
        rule.expression = at;
        at += rule.expression_bytes;
        return rule;
    }
};

// What an FDE and its CIE say.
struct Function {
    Cursor common{};    // the CIE's program
    Cursor specific{};  // the FDE's program
    uint64_t start = 0;
    uint64_t code_unit = 0;
    int64_t data_unit = 0;
    bool signal_frame = false;
};

// Bytes of a DW_EH_PE_* encoded pointer, 0: of no fixed length.
size_t encoded_bytes(uint8_t encoding) {
    switch (encoding & 0x0fU) {
        case 0x00:  // absptr
        case 0x04:  // udata8
        case 0x0c:  // sdata8
            return 8;
        case 0x03:  // udata4
        case 0x0b:  // sdata4
            return 4;
        case 0x02:  // udata2
        case 0x0a:  // sdata2
            return 2;
        default:
            return 0;
    }
}

// The CIE's augmentation, "zPLRS" in any order. False for what we do not know.
bool read_augmentation(const char* letters, Cursor cie, Function& function, uint8_t& encoding) {
    if (letters[0] == '\0') {
        return true;
    }
    if (letters[0] != 'z') {
        return false;
    }
    for (const char* letter = letters + 1; *letter != '\0'; ++letter) {
        switch (*letter) {
            case 'R':
                encoding = cie.fixed<uint8_t>();
                break;
            case 'L':
                cie.at += 1;
                break;
            case 'P': {
                const size_t bytes = encoded_bytes(cie.fixed<uint8_t>());
                if (bytes == 0) {
                    return false;
                }
                cie.at += bytes;
                break;
            }
            case 'S':
                function.signal_frame = true;
                break;
            default:
                return false;
        }
    }
    return true;
}

// Layout of CIE and FDE: LSB Core, section 10.6.1. False for forms that compilers do not write.
bool read_function(const uint8_t* fde, uint64_t start, Function& function) {
    constexpr uint32_t kLongForm = 0xffffffff;
    Cursor entry{fde, fde};
    const auto bytes = entry.fixed<uint32_t>();
    if (bytes == 0 || bytes == kLongForm) {
        return false;
    }
    entry.end = entry.at + bytes;
    const uint8_t* id_field = entry.at;
    Cursor cie{id_field - entry.fixed<int32_t>(), nullptr};
    const auto cie_bytes = cie.fixed<uint32_t>();
    if (cie_bytes == kLongForm) {
        return false;
    }
    cie.end = cie.at + cie_bytes;
    cie.at += sizeof(uint32_t);  // the id that marks a CIE
    const auto version = cie.fixed<uint8_t>();
    const char* letters = reinterpret_cast<const char*>(cie.at);
    cie.at += std::strlen(letters) + 1;
    if (version != 1 && version != 3) {
        return false;
    }
    function.start = start;
    function.code_unit = cie.unsigned_leb();
    function.data_unit = cie.signed_leb();
    const uint64_t column = version == 1 ? cie.fixed<uint8_t>() : cie.unsigned_leb();
    const bool has_augmentation = letters[0] == 'z';
    const uint64_t augmentation_bytes = has_augmentation ? cie.unsigned_leb() : 0;
    uint8_t encoding = 0;
    if (column != kReturnAddress || !read_augmentation(letters, cie, function, encoding)) {
        return false;
    }
    cie.at += augmentation_bytes;
    const size_t pointer_bytes = encoded_bytes(encoding);
    if (pointer_bytes == 0) {
        return false;
    }
    entry.at += 2 * pointer_bytes;  // start and length
    if (has_augmentation) {
        const uint64_t skipped = entry.unsigned_leb();
        entry.at += skipped;
    }
    function.common = cie;
    function.specific = entry;
    return true;
}

// Runs the instructions that lead to the row of one address. DWARF 5, sections 6.4.2 and 7.24.
class Program {
public:
    Program(const Function& function, uint64_t target)
        : function_(function), target_(target), location_(function.start) {}

    // False for an instruction we do not know.
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
            const RegisterRule rule = code.expression();
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

    // Instructions that say where a register of the caller is.
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
                set(target, RegisterRule{Place::kUndefined, 0, nullptr, 0});
                return true;
            case 0x08:  // same_value
                set(target, RegisterRule{});
                return true;
            case 0x09:  // register
            case 0x14:  // val_offset
                code.unsigned_leb();
                set(target, RegisterRule{Place::kOther, 0, nullptr, 0});
                return true;
            case 0x10:  // expression
                set(target, code.expression());
                return true;
            case 0x11: {  // offset_extended_sf
                const int64_t offset = code.signed_leb() * function_.data_unit;
                set(target, RegisterRule{Place::kAtCfaOffset, offset, nullptr, 0});
                return true;
            }
            case 0x15:  // val_offset_sf
                code.signed_leb();
                set(target, RegisterRule{Place::kOther, 0, nullptr, 0});
                return true;
            case 0x16:  // val_expression
                code.expression();
                set(target, RegisterRule{Place::kOther, 0, nullptr, 0});
                return true;
            default:
                return false;
        }
    }

    void advance(uint64_t units) { location_ += units * function_.code_unit; }
    RegisterRule at_offset(uint64_t units) const {
        return {Place::kAtCfaOffset, static_cast<int64_t>(units) * function_.data_unit, nullptr, 0};
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

    const Function& function_;
    uint64_t target_;
    uint64_t location_;
    Row row_{};
    Row initial_{};  // as the CIE leaves it, for restore
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
    if (row.rbp.place == Place::kSame) {
        return rule;
    }
    // Below the return address, and inside this frame.
    const bool inside = row.rbp.offset <= -16 &&
                        row.rbp.offset >= std::numeric_limits<int16_t>::min() &&
                        (!from_rsp || row.rbp.offset >= -row.cfa_offset);
    if (row.rbp.place != Place::kAtCfaOffset || !inside) {
        return {};
    }
    rule.rbp_offset = static_cast<int16_t>(row.rbp.offset);
    return rule;
}

// The form GCC writes for a frame it re-aligned: the CFA's value was saved at rbp + o, and the
// caller's rbp where rbp points. Any other expression is left to libunwind.
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
    const bool rbp_at_rbp = row.rbp.place == Place::kExpression && row.rbp.expression_bytes == 2 &&
                            row.rbp.expression[0] == kBreg6 && row.rbp.expression[1] == 0;
    if (!rbp_at_rbp) {
        return {};
    }
    return {RuleKind::kThroughRbp, 0, kRbpKept, static_cast<int32_t>(offset)};
}

}  // namespace

UnwindRule derive_rule(uint64_t code_address) {
    dwarf_eh_bases bases{};
    const void* fde = _Unwind_Find_FDE(reinterpret_cast<void*>(code_address), &bases);
    Function function;
    if (fde == nullptr || !read_function(static_cast<const uint8_t*>(fde),
                                         reinterpret_cast<uint64_t>(bases.function),
                                         function)) {
        return {};
    }
    Program program(function, code_address);
    if (!program.run()) {
        return {};
    }
    const Row& row = program.row();
    if (row.return_address.place == Place::kUndefined) {
        return {RuleKind::kOutermost, 0, 0, 0};
    }
    const bool usual = !function.signal_frame && row.rsp.place == Place::kSame &&
                       row.return_address.place == Place::kAtCfaOffset &&
                       row.return_address.offset == -8;
    if (!usual) {
        return {};
    }
    return row.cfa_expression == nullptr ? rule_from_register(row) : rule_from_expression(row);
}

}  // namespace peakline::capture
