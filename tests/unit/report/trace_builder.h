// Builds the bytes of a trace record by record, independently of the recorder: only the codecs of
// trace_format.h are shared. Chunks are started when the one before is full, or on demand.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "allocator/record/format/trace_format.h"

namespace peakline::test {

using Bytes = std::vector<unsigned char>;

inline void put_uv(Bytes& out, uint64_t value) {
    unsigned char coded[format::kMaxVarintBytes];
    out.insert(out.end(), coded, format::put_uv(coded, value));
}

inline void put_zz(Bytes& out, int64_t value) {
    put_uv(out, format::zigzag(value));
}

inline Bytes fields(std::initializer_list<uint64_t> values) {
    Bytes body;
    for (const uint64_t value : values) {
        put_uv(body, value);
    }
    return body;
}

// One chunk before it is laid out in the file.
struct BuiltChunk {
    format::ChunkHeader header = {};
    Bytes payload;
};

class TraceBuilder {
public:
    TraceBuilder() { definitions_ = begin_chunk(format::ChunkType::kDefs); }

    // A definition that tells its id itself, or has none.
    void define_unnumbered(format::DefType type, const Bytes& body) {
        Bytes record = fields({static_cast<uint64_t>(type), body.size()});
        record.insert(record.end(), body.begin(), body.end());
        append(definitions_, format::ChunkType::kDefs, record);
    }

    uint32_t define(format::DefType type, const Bytes& body) {
        define_unnumbered(type, body);
        return ++definition_counts_[static_cast<size_t>(type) % format::kDefTypeCount];
    }

    uint32_t define_string(const std::string& text) {
        const auto [at, is_new] = strings_.try_emplace(text, 0);
        if (is_new) {
            at->second = define(format::DefType::kString, Bytes(text.begin(), text.end()));
        }
        return at->second;
    }

    void define_meta(const std::string& key, const std::string& value) {
        Bytes body = fields({key.size()});
        body.insert(body.end(), key.begin(), key.end());
        body.insert(body.end(), value.begin(), value.end());
        define(format::DefType::kMeta, body);
    }

    void advance(uint64_t ticks) { pending_ticks_ += ticks; }

    // The ordinal of the allocation.
    uint64_t alloc_class(uint32_t class_id, uint64_t address) {
        Bytes body = fields({class_id});
        begin_event_chunk_if_needed();
        put_address(body, address);
        put_event(format::Op::kAllocClass, body);
        return ordinal_++;
    }

    uint64_t alloc_inline(const Bytes& shape, uint64_t address) {
        Bytes body = shape;
        begin_event_chunk_if_needed();
        put_address(body, address);
        put_event(format::Op::kAllocInline, body);
        return ordinal_++;
    }

    // As if nothing were freed: an upper bound of the highest level in the chunk.
    void count_gpu_bytes(uint64_t bytes) { chunks_[events_].header.max_live_bytes += bytes; }

    void free(uint64_t ordinal, uint32_t context = 0) {
        if (context != 0) {
            extended(format::ExtendedType::kFreeWithContext, fields({ordinal_ - ordinal, context}));
        } else {
            put_event(format::Op::kFree, fields({ordinal_ - ordinal}));
        }
    }

    void extended(format::ExtendedType type, const Bytes& body) {
        Bytes record = fields({static_cast<uint64_t>(type), body.size()});
        record.insert(record.end(), body.begin(), body.end());
        put_event(format::Op::kExtended, record);
    }

    // One of format::NumberRecords.
    template <class Record>
    void put(const Record& record) {
        Bytes body;
        for (const uint64_t field : format::fields_of(record)) {
            put_uv(body, field);
        }
        extended(Record::kType, body);
    }

    void free_deferred(uint64_t ordinal, uint32_t context = 0) {
        Bytes body = fields({ordinal_ - ordinal});
        if (context != 0) {
            put_uv(body, context);
        }
        extended(format::ExtendedType::kFreeDeferred, body);
    }
    void free_completed(uint64_t ordinal) {
        extended(format::ExtendedType::kFreeCompleted, fields({ordinal_ - ordinal}));
    }
    void mark(format::MarkKind kind, uint32_t string = 0) { put(format::Mark{kind, 0, string}); }

    void summary(format::SummaryType type, const Bytes& body) {
        Bytes record = fields({static_cast<uint64_t>(type), body.size()});
        record.insert(record.end(), body.begin(), body.end());
        append(summary_, format::ChunkType::kSummary, record);
    }

    void next_event_chunk() { events_ = kNone; }
    void next_definition_chunk() { definitions_ = kNone; }
    uint64_t next_ordinal() const { return ordinal_; }

    // A file of all chunks, sealed; the last one is cut after its committed bytes.
    Bytes finish() { return finish(true); }
    // As a killed program leaves it: the open chunks unsealed, preallocated zeros at the end.
    Bytes finish_killed() { return finish(false); }

    static uint64_t chunk_offset(uint64_t number) {
        return format::kSuperblockBytes + number * format::kChunkBytes;
    }
    const std::vector<BuiltChunk>& chunks() const { return chunks_; }

private:
    static constexpr size_t kNone = SIZE_MAX;

    void append(size_t& open, format::ChunkType type, const Bytes& record) {
        if (open == kNone || chunks_[open].payload.size() + record.size() > format::kPayloadBytes) {
            open = begin_chunk(type);
        }
        BuiltChunk& chunk = chunks_[open];
        chunk.payload.insert(chunk.payload.end(), record.begin(), record.end());
        ++chunk.header.event_count;
    }

    size_t begin_chunk(format::ChunkType type) {
        BuiltChunk chunk;
        chunk.header.magic = format::kChunkMagic;
        chunk.header.type = static_cast<uint16_t>(type);
        chunk.header.index = chunks_.size();
        for (size_t i = 0; type == format::ChunkType::kDefs && i < format::kDefTypeCount; ++i) {
            chunk.header.first_ids[i] = definition_counts_[i] + 1;
        }
        chunks_.push_back(chunk);
        return chunks_.size() - 1;
    }

    // Room for the longest record, so that the address delta is right.
    void begin_event_chunk_if_needed() {
        if (events_ != kNone && chunks_[events_].payload.size() + 128 <= format::kPayloadBytes) {
            return;
        }
        events_ = begin_chunk(format::ChunkType::kEvents);
        format::ChunkHeader& header = chunks_[events_].header;
        header.first_event = event_count_;
        header.first_ordinal = ordinal_;
        header.first_tick = tick_;
        header.base_address = address_;
    }

    void put_address(Bytes& out, uint64_t address) {
        unsigned char coded[format::kMaxVarintBytes];
        out.insert(out.end(), coded, format::put_address(coded, address, address_));
        address_ = address;
    }

    void put_event(format::Op op, const Bytes& body) {
        begin_event_chunk_if_needed();
        Bytes record;
        const auto op_bits = static_cast<unsigned>(op) << 6;
        if (pending_ticks_ <= format::kDtMax) {
            record.push_back(static_cast<unsigned char>(op_bits | pending_ticks_));
        } else {
            record.push_back(static_cast<unsigned char>(op_bits | format::kDtFollows));
            put_uv(record, pending_ticks_);
        }
        tick_ += pending_ticks_;
        pending_ticks_ = 0;
        record.insert(record.end(), body.begin(), body.end());
        append(events_, format::ChunkType::kEvents, record);
        ++event_count_;
    }

    Bytes finish(bool sealed) {
        Bytes file(format::kSuperblockBytes);
        format::Superblock block = {};
        std::memcpy(block.magic, format::kMagic, sizeof(block.magic));
        block.major = format::kMajor;
        block.minor = format::kMinor;
        block.endian_mark = format::kEndianMark;
        block.chunk_bytes = format::kChunkBytes;
        block.tick_ns = format::kTickNs;
        block.pid = 4711;
        block.header_xxh3 = XXH3_64bits(&block, offsetof(format::Superblock, header_xxh3));
        std::memcpy(file.data(), &block, sizeof(block));
        for (size_t i = 0; i < chunks_.size(); ++i) {
            put_chunk(file, i, sealed || (i != events_ && i != definitions_));
        }
        if (!sealed) {
            file.resize(chunk_offset(chunks_.size() + 2));
        }
        return file;
    }

    static uint64_t seed_of(const format::ChunkHeader& header) {
        return header.type == static_cast<uint16_t>(format::ChunkType::kDefs)
                   ? XXH3_64bits(header.first_ids, sizeof(header.first_ids))
                   : 0;
    }

    void put_chunk(Bytes& file, size_t number, bool sealed) {
        BuiltChunk& chunk = chunks_[number];
        chunk.header.committed = static_cast<uint32_t>(chunk.payload.size());
        if (sealed) {
            chunk.header.flags = format::kChunkSealed;
            chunk.header.payload_xxh3 = XXH3_64bits_withSeed(
                chunk.payload.data(), chunk.payload.size(), seed_of(chunk.header));
        }
        file.resize(chunk_offset(number));
        const auto* header = reinterpret_cast<const unsigned char*>(&chunk.header);
        file.insert(file.end(), header, header + sizeof(chunk.header));
        file.insert(file.end(), chunk.payload.begin(), chunk.payload.end());
    }

    std::vector<BuiltChunk> chunks_;
    size_t definitions_ = kNone;
    size_t events_ = kNone;
    size_t summary_ = kNone;
    uint32_t definition_counts_[format::kDefTypeCount] = {};
    std::map<std::string, uint32_t> strings_;
    uint64_t event_count_ = 0;
    uint64_t ordinal_ = 0;
    uint64_t tick_ = 0;
    uint64_t pending_ticks_ = 0;
    uint64_t address_ = 0;
};

}  // namespace peakline::test
