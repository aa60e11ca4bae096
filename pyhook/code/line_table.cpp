// Formats: CPython's Objects/lnotab_notes.txt (3.10) and Objects/locations.md (3.11 and later,
// InternalDocs/code_objects.md since 3.14).
#include "line_table.h"

namespace peakline::pyhook {
namespace {

constexpr uint32_t kNoLine = 0;

uint32_t checked_line(int64_t line) {
    return line > 0 && line <= INT32_MAX ? static_cast<uint32_t>(line) : kNoLine;
}

// Reads bytes of a location table. Past the end it returns zeros.
class Reader {
public:
    Reader(const uint8_t* begin, size_t length) : next_(begin), end_(begin + length) {}

    bool at_end() const { return next_ == end_; }
    uint8_t byte() { return at_end() ? uint8_t{0} : *next_++; }
    void skip(size_t count) {
        const auto left = static_cast<size_t>(end_ - next_);
        next_ += count < left ? count : left;
    }

    // Six bits per byte, lowest first; bit 6 is set if another byte follows.
    uint32_t varint() {
        uint32_t value = 0;
        for (unsigned shift = 0; shift < 32; shift += 6) {
            const uint8_t part = byte();
            value |= static_cast<uint32_t>(part & 63) << shift;
            if ((part & 64) == 0) {
                break;
            }
        }
        return value;
    }

    // The lowest bit is the sign.
    int64_t signed_varint() {
        const uint32_t value = varint();
        const auto magnitude = static_cast<int64_t>(value >> 1);
        return (value & 1) != 0 ? -magnitude : magnitude;
    }

private:
    const uint8_t* next_;
    const uint8_t* end_;
};

// Kinds of entries in the location table. Kinds below kOneLineFirst keep the line; 13 is a line
// without columns.
constexpr unsigned kOneLineFirst = 10;
constexpr unsigned kOneLineLast = 12;
constexpr unsigned kLong = 14;
constexpr unsigned kNone = 15;

// Reads the rest of an entry; returns the change of the line.
int64_t read_location(Reader& reader, unsigned kind) {
    if (kind < kOneLineFirst) {
        reader.skip(1);
        return 0;
    }
    if (kind <= kOneLineLast) {
        reader.skip(2);
        return kind - kOneLineFirst;
    }
    if (kind == kNone) {
        return 0;
    }
    const int64_t delta = reader.signed_varint();
    if (kind == kLong) {
        reader.varint();  // end line
        reader.varint();  // start column
        reader.varint();  // end column
    }
    return delta;
}

}  // namespace

uint32_t line_of_pairs(const LineTable& table, int64_t byte_offset) {
    constexpr int8_t kNoLineDelta = -128;
    int64_t line = table.first_line;
    int64_t end_offset = 0;
    for (size_t i = 0; i + 1 < table.length; i += 2) {
        const auto delta = static_cast<int8_t>(table.bytes[i + 1]);
        end_offset += table.bytes[i];
        line += delta == kNoLineDelta ? 0 : delta;
        if (byte_offset < end_offset) {
            return byte_offset < 0 || delta == kNoLineDelta ? kNoLine : checked_line(line);
        }
    }
    return kNoLine;
}

uint32_t line_of_locations(const LineTable& table, int64_t byte_offset) {
    constexpr int64_t kCodeUnitBytes = 2;
    Reader reader(table.bytes, table.length);
    int64_t line = table.first_line;
    int64_t end_offset = 0;
    while (!reader.at_end()) {
        const uint8_t head = reader.byte();
        const unsigned kind = (head >> 3) & 15U;
        end_offset += ((head & 7) + 1) * kCodeUnitBytes;
        line += read_location(reader, kind);
        if (byte_offset < end_offset) {
            return byte_offset < 0 || kind == kNone ? kNoLine : checked_line(line);
        }
    }
    return kNoLine;
}

}  // namespace peakline::pyhook
