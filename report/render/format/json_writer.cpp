#include "json_writer.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "allocator/record/format/unsafe_text.h"

namespace peakline::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_continuation(unsigned char byte) {
    return (byte & 0xC0) == 0x80;
}

// Length of a UTF-8 sequence with this first byte; 0: no sequence begins with it.
size_t length_by_lead(unsigned char lead) {
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return 0;
    }
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// Overlong forms, surrogates, and code points beyond Unicode.
bool is_forbidden(unsigned char lead, unsigned char second) {
    return (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
           (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
}

// Length of the valid UTF-8 sequence at the start of `text`, 0 when there is none.
size_t sequence_length(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const size_t length = length_by_lead(byte(0));
    if (length > text.size()) {
        return 0;
    }
    for (size_t i = 1; i < length; ++i) {
        if (!is_continuation(byte(i))) {
            return 0;
        }
    }
    return length > 1 && is_forbidden(byte(0), byte(1)) ? 0 : length;
}

}  // namespace

JsonWriter& JsonWriter::open(char bracket) {
    separate();
    out_ += bracket;
    needs_comma_ = false;
    return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
    out_ += bracket;
    needs_comma_ = true;
    return *this;
}

void JsonWriter::separate() {
    if (needs_comma_) {
        out_ += ", ";
    }
    needs_comma_ = true;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
    separate();
    out_ += text;
    return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
    separate();
    put_string(name);
    out_ += ": ";
    needs_comma_ = false;
    return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
    separate();
    put_string(text);
    return *this;
}

JsonWriter& JsonWriter::value(double number) {
    if (!std::isfinite(number)) {
        return null();
    }
    char text[40];
    // A double keeps 15 digits exactly, and the time of an event must identify its tick in a long
    // run.
    std::snprintf(text, sizeof(text), "%.15g", number);
    return raw(text);
}

JsonWriter& JsonWriter::value(const std::vector<std::string>& texts) {
    begin_array();
    for (const std::string& text : texts) {
        value(std::string_view(text));
    }
    return end_array();
}

JsonWriter& JsonWriter::value(const std::vector<uint64_t>& numbers) {
    begin_array();
    for (const uint64_t number : numbers) {
        value(number);
    }
    return end_array();
}

// JSON escapes characters beyond U+FFFF as a UTF-16 surrogate pair.
void JsonWriter::put_escape(uint32_t code) {
    if (code > 0xFFFF) {
        put_escape(0xD800 + ((code - 0x10000) >> 10));
        put_escape(0xDC00 + ((code - 0x10000) & 0x3FF));
        return;
    }
    char escape[8];
    std::snprintf(escape, sizeof(escape), "\\u%04x", code);
    out_ += escape;
}

void JsonWriter::put_string(std::string_view text) {
    out_ += '"';
    while (!text.empty()) {
        const auto byte = static_cast<unsigned char>(text[0]);
        size_t length = sequence_length(text);
        if (byte == '"' || byte == '\\') {
            out_ += '\\';
            out_ += text[0];
        } else if (length == 0) {
            out_ += kReplacement;
        } else if (uint32_t code = 0;
                   format::read_character(text, &code), format::is_unsafe(code)) {
            put_escape(code);
        } else {
            out_ += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out_ += '"';
}

std::string JsonWriter::take() {
    needs_comma_ = false;
    return std::exchange(out_, {});
}

}  // namespace peakline::report
