// Characters that no text of ours may hold when people read it: names come from somebody else's
// program, and must not end a line, drive a terminal, or show text in another order than it has.
// The reports, and messages from within the program, which may not allocate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

namespace peakline::format {

// Control characters, marks of direction, and characters that nobody sees.
inline bool is_unsafe(uint32_t code) {
    static constexpr struct {
        uint32_t first;
        uint32_t last;
    } kRanges[] = {
        {0x00, 0x1F},
        {0x7F, 0x9F},      // DEL, and commands of one character: U+009B is as good as ESC [
        {0x61C, 0x61C},    // marks of direction
        {0x200E, 0x200F},  // the same
        {0x2028, 0x202E},  // line and paragraph separators, embeddings and overrides of direction
        {0x2060, 0x206F},  // isolates of direction, invisible operators
        {0xFEFF, 0xFEFF},
        {0xFFF9, 0xFFFB},
        {0xFFFE, 0xFFFF},    // no characters; XML cannot hold them
        {0xE0000, 0xE007F},  // invisible tags
    };
    return std::any_of(std::begin(kRanges), std::end(kRanges), [code](const auto& range) {
        return code >= range.first && code <= range.last;
    });
}

// Bytes of the character at the beginning of `text`, 1 where it is no UTF-8; `code` is its
// number, or that byte.
inline size_t read_character(std::string_view text, uint32_t* code) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const size_t length = byte(0) < 0xC0 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
    *code = byte(0);
    if (text.size() < length) {
        return 1;
    }
    uint32_t number = length == 1 ? byte(0) : byte(0) & (0xFFU >> (length + 1));
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) {
            return 1;
        }
        number = number << 6 | (byte(i) & 0x3FU);
    }
    *code = number;
    return length;
}

// Puts "?" in place of each unsafe character; returns the length then, which is no larger. A lone
// byte of 0x80 and above is no character; whoever decodes the text replaces it.
inline size_t make_printable(char* text, size_t length) {
    size_t kept = 0;
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        const size_t bytes = read_character({text + at, length - at}, &code);
        if ((bytes > 1 || code < 0x80) && is_unsafe(code)) {
            text[kept++] = '?';
        } else {
            std::memmove(text + kept, text + at, bytes);
            kept += bytes;
        }
        at += bytes;
    }
    return kept;
}

}  // namespace peakline::format
