// Writes JSON in the order of the calls. The output is valid: bytes that are not UTF-8 become
// U+FFFD.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peakline::report {

class JsonWriter {
public:
    JsonWriter& begin_object() { return open('{'); }
    JsonWriter& end_object() { return close('}'); }
    JsonWriter& begin_array() { return open('['); }
    JsonWriter& end_array() { return close(']'); }
    JsonWriter& key(std::string_view name);

    JsonWriter& value(std::string_view text);
    JsonWriter& value(const char* text) { return value(std::string_view(text)); }
    JsonWriter& value(uint64_t number) { return raw(std::to_string(number)); }
    JsonWriter& value(uint32_t number) { return raw(std::to_string(number)); }
    JsonWriter& value(int64_t number) { return raw(std::to_string(number)); }
    JsonWriter& value(int number) { return raw(std::to_string(number)); }
    JsonWriter& value(double number);
    JsonWriter& value(bool truth) { return raw(truth ? "true" : "false"); }
    JsonWriter& value(const std::vector<std::string>& texts);
    JsonWriter& value(const std::vector<uint64_t>& numbers);
    JsonWriter& null() { return raw("null"); }
    // nullopt becomes null.
    template <class Value>
    JsonWriter& value(const std::optional<Value>& content) {
        return content ? value(*content) : null();
    }
    // Writes a finished document as a value.
    JsonWriter& embed(std::string_view document) { return raw(document); }

    template <class Value>
    JsonWriter& field(std::string_view name, const Value& content) {
        return key(name).value(content);
    }

    // An empty text becomes null.
    JsonWriter& text_or_null(std::string_view name, std::string_view text) {
        key(name);
        return text.empty() ? null() : value(text);
    }

    // Returns the document and empties the writer.
    std::string take();

private:
    JsonWriter& open(char bracket);
    JsonWriter& close(char bracket);
    JsonWriter& raw(std::string_view text);
    void separate();
    void put_string(std::string_view text);
    void put_escape(uint32_t code);

    std::string out_;
    bool needs_comma_ = false;
};

}  // namespace peakline::report
