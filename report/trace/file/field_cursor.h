// Reads the fields of one record in order and never past its end. After the first field that does
// not fit, `good` is false and every further field is 0: check once, after the last field.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

#include "allocator/record/format/trace_format.h"

namespace peakline::report {

struct FieldCursor {
    const unsigned char* at;
    const unsigned char* end;
    bool good = true;

    explicit FieldCursor(std::span<const unsigned char> bytes)
        : at(bytes.data()), end(bytes.data() + bytes.size()) {}

    uint64_t uv() {
        uint64_t value = 0;
        const unsigned char* next = good ? format::get_uv(at, end, &value) : nullptr;
        if (next == nullptr) {
            good = false;
            return 0;
        }
        at = next;
        return value;
    }

    // A field that must fit in 32 bits, as ids do.
    uint32_t uv32() {
        const uint64_t value = uv();
        if (value > UINT32_MAX) {
            good = false;
            return 0;
        }
        return static_cast<uint32_t>(value);
    }

    int64_t zz() { return format::unzigzag(uv()); }

    std::string_view bytes(uint64_t count) {
        if (!good || count > static_cast<uint64_t>(end - at)) {
            good = false;
            return {};
        }
        const std::string_view text(reinterpret_cast<const char*>(at), count);
        at += count;
        return text;
    }

    // A definition of plain numbers, see trace_format.h. Optional fields that are absent are 0.
    template <class Definition>
    Definition definition() {
        Definition read{};
        const auto fields = Definition::fields(read);
        size_t left = std::tuple_size_v<decltype(fields)>;
        const auto read_field = [&]<class Field>(Field& field) {
            const bool is_absent = left-- <= Definition::kOptional && at == end;
            if constexpr (sizeof(Field) == sizeof(uint64_t)) {
                field = is_absent ? Field{} : uv();
            } else {
                field = is_absent ? Field{} : static_cast<Field>(uv32());
            }
        };
        std::apply([&](auto&... all) { (read_field(all), ...); }, fields);
        return read;
    }

    std::string_view rest() { return bytes(static_cast<uint64_t>(end - at)); }
};

// One record: uv type | uv length | body of that length.
struct TypedRecord {
    uint32_t type = 0;
    std::span<const unsigned char> body;
};

// False when the record does not end within the cursor's bytes.
inline bool next_typed_record(FieldCursor& cursor, TypedRecord* record) {
    record->type = cursor.uv32();
    const std::string_view body = cursor.bytes(cursor.uv());
    record->body = {reinterpret_cast<const unsigned char*>(body.data()), body.size()};
    return cursor.good;
}

}  // namespace peakline::report
