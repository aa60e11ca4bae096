// Records that are neither allocation nor free, as numbers. They occur among the events.
// Checkpoints hold them, too, as the result of the earlier events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "allocator/record/format/trace_format.h"
#include "field_cursor.h"

namespace peakline::report {

// The rare records, with the fields of their type in the order of trace_format.h.
struct RareEvent {
    format::ExtendedType type;
    uint64_t fields[format::NumberRecords::kMaxFields];

    // nullopt when it is a record of another type.
    template <class Record>
    std::optional<Record> as() const {
        static_assert(format::NumberRecords::kHas<Record>, "add it to format::NumberRecords");
        return type == Record::kType ? std::optional(format::record_of<Record>(fields))
                                     : std::nullopt;
    }
};

// Decodes the body of an extended record that is no free. False when it is shorter than its fields.
// A type of a newer minor version has no fields that this reader knows.
inline bool decode_rare(format::ExtendedType type,
                        std::span<const unsigned char> body,
                        RareEvent* event) {
    *event = {type, {}};
    FieldCursor cursor(body);
    for (size_t i = 0; i < format::NumberRecords::field_count(type); ++i) {
        event->fields[i] = cursor.uv();
    }
    return cursor.good;
}

}  // namespace peakline::report
