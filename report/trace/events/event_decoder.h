// Decodes the records of one EVENTS payload and hands them to a visitor. The hot loop of every
// report: a few nanoseconds per record, no allocation. Called by EventStream's users only.
//
// A visitor has
//   on_alloc_class(ordinal, tick, class_id, address)
//   on_alloc_inline(ordinal, tick, shape, address)
//   on_free(ordinal, tick, FreeKind, context)   context 0: not recorded
//   on_unmatched_free(tick)         the allocation came before the first event of the file
//   on_rare(tick, RareEvent)        all other records
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "allocator/record/format/trace_format.h"
#include "report/trace/definitions/definitions.h"
#include "report/trace/file/field_cursor.h"
#include "report/trace/file/rare_event.h"

namespace peakline::report {

enum class FreeKind : uint8_t { kPlain, kDeferred, kCompleted };

// The result of decoding one chunk.
struct ChunkEnd {
    const char* fault = nullptr;  // nullptr: every record of the payload was decoded
    uint64_t offset = 0;          // offset of the record that does not decode
    uint64_t event_count = 0;
    bool ends_process = false;  // the last record is the mark of a clean end
};

// The position in the stream; carried from chunk to chunk.
struct StreamPosition {
    uint64_t next_ordinal = 0;
    uint64_t tick = 0;
    uint64_t address = 0;
    // For a stream that begins at a checkpoint: the distance in ordinals from the checkpoint back
    // to each block that was live there, falling. These blocks are the first allocations of the
    // stream.
    std::span<const uint64_t> baseline_backs;
};

template <class Visitor>
class EventDecoder {
public:
    EventDecoder(Visitor& visitor, StreamPosition& position)
        : visitor_(visitor), position_(position) {}

    ChunkEnd decode(std::span<const unsigned char> payload) {
        ChunkEnd end;
        const unsigned char* at = payload.data();
        after_end_mark_ = nullptr;
        end_ = at + payload.size();
        while (at < end_) {
            const unsigned char* next = decode_record(at);
            if (next == nullptr) {
                end.fault = fault_;
                end.offset = static_cast<uint64_t>(at - payload.data());
                return end;
            }
            at = next;
            ++end.event_count;
        }
        end.ends_process = at != payload.data() && at == after_end_mark_;
        return end;
    }

private:
    // Returns the byte after the record, or nullptr with fault_ set.
    const unsigned char* decode_record(const unsigned char* at) {
        const unsigned char tag = *at++;
        uint64_t dt = tag & 63;
        if (dt > format::kDtMax) {
            if (dt != format::kDtFollows) {
                return fail("invalid time field");
            }
            at = format::get_uv(at, end_, &dt);
            if (at == nullptr) {
                return fail("time field is cut");
            }
        }
        position_.tick += dt;
        switch (static_cast<format::Op>(tag >> 6)) {
            case format::Op::kAllocClass:
                return decode_class(at);
            case format::Op::kAllocInline:
                return decode_inline(at);
            case format::Op::kFree:
                return decode_free(at, FreeKind::kPlain);
            case format::Op::kExtended:
                break;
        }
        return decode_extended(at);
    }

    const unsigned char* decode_class(const unsigned char* at) {
        uint64_t class_id = 0;
        uint64_t coded = 0;
        at = format::get_uv(at, end_, &class_id);
        at = at == nullptr ? nullptr : format::get_uv(at, end_, &coded);
        if (at == nullptr) {
            return fail("allocation is cut");
        }
        if (class_id == 0 || class_id > UINT32_MAX) {
            return fail("invalid class id");
        }
        position_.address = format::apply_address(coded, position_.address);
        visitor_.on_alloc_class(position_.next_ordinal++,
                                position_.tick,
                                static_cast<uint32_t>(class_id),
                                position_.address);
        return at;
    }

    const unsigned char* decode_inline(const unsigned char* at) {
        FieldCursor cursor({at, end_});
        AllocationShape shape;
        shape.context = cursor.uv32();
        const uint64_t device = cursor.uv();
        shape.stream = cursor.uv32();
        const uint64_t requested = cursor.uv();
        const int64_t rounding = cursor.zz();
        const uint64_t coded = cursor.uv();
        if (!cursor.good || !set_shape(&shape, device, requested, rounding)) {
            return fail("allocation is cut or has impossible sizes");
        }
        position_.address = format::apply_address(coded, position_.address);
        visitor_.on_alloc_inline(
            position_.next_ordinal++, position_.tick, shape, position_.address);
        return cursor.at;
    }

    const unsigned char* decode_free(const unsigned char* at, FreeKind kind) {
        uint64_t back = 0;
        at = format::get_uv(at, end_, &back);
        return end_free(at, back, kind, 0);
    }

    bool decode_free_with_context(const unsigned char* at, FreeKind kind) {
        FieldCursor cursor({at, end_});
        const uint64_t back = cursor.uv();
        const bool may_lack_context = kind == FreeKind::kDeferred && cursor.at == cursor.end;
        const uint32_t context = may_lack_context ? 0 : cursor.uv32();
        if (!cursor.good) {
            return fail("free is cut") != nullptr;
        }
        return end_free(cursor.at, back, kind, context) != nullptr;
    }

    const unsigned char* end_free(const unsigned char* at,
                                  uint64_t back,
                                  FreeKind kind,
                                  uint32_t context) {
        if (at == nullptr || back == 0) {
            return fail("free names no allocation");
        }
        if (back > position_.next_ordinal - position_.baseline_backs.size()) {
            free_from_before(back, kind, context);
        } else {
            visitor_.on_free(position_.next_ordinal - back, position_.tick, kind, context);
        }
        return at;
    }

    void free_from_before(uint64_t back, FreeKind kind, uint32_t context) {
        const auto& backs = position_.baseline_backs;
        const uint64_t wanted = back - (position_.next_ordinal - backs.size());
        const auto found = std::lower_bound(backs.begin(), backs.end(), wanted, std::greater<>());
        if (found == backs.end() || *found != wanted) {
            visitor_.on_unmatched_free(position_.tick);
        } else {
            const auto ordinal = static_cast<uint64_t>(found - backs.begin());
            visitor_.on_free(ordinal, position_.tick, kind, context);
        }
    }

    const unsigned char* decode_extended(const unsigned char* at) {
        FieldCursor cursor({at, end_});
        TypedRecord record;
        if (!next_typed_record(cursor, &record)) {
            return fail("extended record is cut");
        }
        const bool good = decode_body(static_cast<format::ExtendedType>(record.type), record.body);
        return good ? cursor.at : nullptr;
    }

    bool decode_body(format::ExtendedType type, std::span<const unsigned char> body) {
        const unsigned char* const payload_end = end_;
        end_ = body.data() + body.size();
        const bool good = decode_known_body(type, body);
        end_ = payload_end;
        return good;
    }

    bool decode_known_body(format::ExtendedType type, std::span<const unsigned char> body) {
        switch (type) {
            case format::ExtendedType::kFreeDeferred:
                return decode_free_with_context(body.data(), FreeKind::kDeferred);
            case format::ExtendedType::kFreeCompleted:
                return decode_free(body.data(), FreeKind::kCompleted) != nullptr;
            case format::ExtendedType::kFreeWithContext:
                return decode_free_with_context(body.data(), FreeKind::kPlain);
            default:
                break;
        }
        return decode_numbers(type, body);
    }

    // Unknown types of newer minor versions are passed on, too: the visitor counts them.
    bool decode_numbers(format::ExtendedType type, std::span<const unsigned char> body) {
        RareEvent event = {type, {}};
        if (!decode_rare(type, body, &event)) {
            return fail("extended record is shorter than its fields") != nullptr;
        }
        const auto mark = event.as<format::Mark>();
        if (mark.has_value() && mark->kind == format::MarkKind::kProcessEnd) {
            after_end_mark_ = body.data() + body.size();
        }
        visitor_.on_rare(position_.tick, event);
        return true;
    }

    const unsigned char* fail(const char* fault) {
        fault_ = fault;
        return nullptr;
    }

    Visitor& visitor_;
    StreamPosition& position_;
    const unsigned char* end_ = nullptr;
    const char* fault_ = nullptr;
    const unsigned char* after_end_mark_ = nullptr;  // in this payload
};

}  // namespace peakline::report
