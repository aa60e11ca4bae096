// Finds and decodes the unwind table's entry of one function: its programs and units. For cfi_rule.
// Layout of CIE and FDE: LSB Core, section 10.6.1. Allocates nothing.
#pragma once

#include <cstdint>
#include <cstring>

namespace peakline::capture {

// Reads forward through bytes of the table; the compiler wrote them, so lengths are trusted.
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
        unsigned bit_count = 0;
        return leb(&bit_count);
    }
    int64_t signed_leb() {
        unsigned bit_count = 0;
        uint64_t value = leb(&bit_count);
        const bool is_negative = (at[-1] & 0x40U) != 0;
        if (bit_count < 64 && is_negative) {
            value |= ~uint64_t{0} << bit_count;
        }
        return static_cast<int64_t>(value);
    }

private:
    // Adds the number of bits that were read.
    uint64_t leb(unsigned* bit_count) {
        uint64_t value = 0;
        uint8_t byte = 0;
        do {
            byte = *at++;
            value |= *bit_count < 64 ? uint64_t{byte & 0x7fU} << *bit_count : 0;
            *bit_count += 7;
        } while ((byte & 0x80U) != 0);
        return value;
    }
};

// The contents of an FDE and its CIE.
struct CfiEntry {
    Cursor common{};    // the CIE's program
    Cursor specific{};  // the FDE's program
    uint64_t start = 0;
    uint64_t code_unit = 0;
    int64_t data_unit = 0;
    bool signal_frame = false;
};

// The entry that covers `code_address`. False when there is none, or it has a form that compilers
// do not write.
bool find_cfi_entry(uint64_t code_address, CfiEntry* entry);

}  // namespace peakline::capture
