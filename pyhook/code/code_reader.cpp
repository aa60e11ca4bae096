#include "code_reader.h"

#include "line_table.h"

namespace peakline::pyhook {
namespace {

constexpr int64_t kCodeUnitBytes = 2;

const void* code_of(const RawFrame& frame) {
    return reinterpret_cast<const void*>(frame.code);
}

// The characters of a PyUnicodeObject, wherever it stores them.
struct Characters {
    const void* data;
    size_t count;
    unsigned kind;  // bytes per character; 1, 2 or 4, else unreadable
};

// PyUnicode_AsUTF8 would write a cache into the object and call Python's malloc.
Characters characters_of(const PythonLayout& layout, const void* string) {
    constexpr uint32_t kCompactBit = 1U << 5;
    constexpr uint32_t kAsciiBit = 1U << 6;
    if (string == nullptr) {
        return {nullptr, 0, 0};
    }
    const auto state = read_at<uint32_t>(string, kUnicodeState);
    const auto count = read_at<uint64_t>(string, kUnicodeLength);
    const unsigned kind = (state >> 2) & 7;
    if ((state & kCompactBit) == 0) {  // an instance of a subclass of str
        return {read_at<const void*>(string, layout.compact_bytes), count, kind};
    }
    const uint16_t start = (state & kAsciiBit) != 0 ? layout.ascii_bytes : layout.compact_bytes;
    return {static_cast<const char*>(string) + start, count, kind};
}

uint32_t character_at(const Characters& characters, size_t index) {
    const auto* const bytes = static_cast<const unsigned char*>(characters.data);
    uint32_t value = 0;
    __builtin_memcpy(&value, bytes + index * characters.kind, characters.kind);
    return value;
}

size_t put_utf8(uint32_t character, char (&out)[4]) {
    constexpr uint32_t kReplacement = 0xFFFD;
    const bool is_surrogate = character >= 0xD800 && character < 0xE000;
    if (is_surrogate || character > 0x10FFFF) {
        character = kReplacement;
    }
    const auto put = [&out](size_t index, uint32_t byte) { out[index] = static_cast<char>(byte); };
    if (character < 0x80) {
        put(0, character);
        return 1;
    }
    const size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; --i) {
        put(i, 0x80 | (character & 0x3F));
        character >>= 6;
    }
    constexpr uint32_t kLead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    put(0, kLead[length] | character);
    return length;
}

size_t copy_characters(const Characters& characters, char* out, size_t room) {
    if (characters.data == nullptr ||
        (characters.kind != 1 && characters.kind != 2 && characters.kind != 4)) {
        return 0;
    }
    size_t written = 0;
    for (size_t i = 0; i < characters.count; ++i) {
        char utf8[4];
        const size_t length = put_utf8(character_at(characters, i), utf8);
        if (length > room - written) {
            break;
        }
        __builtin_memcpy(out + written, utf8, length);
        written += length;
    }
    return written;
}

}  // namespace

bool CodeReader::is_visible(const RawFrame& frame) const {
    if (frame.code == 0 || read_at<const void*>(code_of(frame), kObjectType) != code_type) {
        return false;
    }
    if (layout->code_first_traceable == 0) {
        return true;
    }
    const auto first_traceable = read_at<int32_t>(code_of(frame), layout->code_first_traceable);
    return byte_offset(frame) >= first_traceable * kCodeUnitBytes;
}

int64_t CodeReader::byte_offset(const RawFrame& frame) const {
    if (layout->position_is_index) {
        const auto index = static_cast<int64_t>(frame.position);
        return index < 0 ? -1 : index * kCodeUnitBytes;  // -1: it has not begun
    }
    return static_cast<int64_t>(frame.position - (frame.code + layout->code_bytecode));
}

uint32_t CodeReader::line(const RawFrame& frame) const {
    const void* const bytes = read_at<const void*>(code_of(frame), layout->code_line_table);
    const LineTable table = {
        .bytes = static_cast<const uint8_t*>(bytes) + kBytesData,
        .length = read_at<uint64_t>(bytes, kVarObjectSize),
        .first_line = read_at<int32_t>(code_of(frame), layout->code_first_line),
    };
    const int64_t offset = byte_offset(frame);
    const uint32_t line =
        layout->position_is_index ? line_of_pairs(table, offset) : line_of_locations(table, offset);
    if (line != 0) {
        return line;
    }
    return table.first_line > 0 ? static_cast<uint32_t>(table.first_line) : 0;
}

size_t CodeReader::copy_file(const RawFrame& frame, char* out, size_t room) const {
    return copy_string(frame, layout->code_file, out, room);
}

size_t CodeReader::copy_name(const RawFrame& frame, char* out, size_t room) const {
    return copy_string(frame, layout->code_name, out, room);
}

size_t CodeReader::copy_qualified_name(const RawFrame& frame, char* out, size_t room) const {
    return copy_string(frame, layout->code_qualified_name, out, room);
}

size_t CodeReader::copy_string(const RawFrame& frame,
                               uint16_t offset,
                               char* out,
                               size_t room) const {
    return copy_text(read_at<const void*>(code_of(frame), offset), out, room);
}

size_t CodeReader::copy_text(const void* string, char* out, size_t room) const {
    return copy_characters(characters_of(*layout, string), out, room);
}

}  // namespace peakline::pyhook
