#include "trace_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace peakline::report {
namespace {

// The longest record of an event without a text.
constexpr size_t kMaxEventBytes = 128;
constexpr size_t kMaxFieldBytes = 16 * format::kMaxVarintBytes;

std::vector<unsigned char> bytes_of(const std::string& text) {
    return {text.begin(), text.end()};
}

void make_uuid(unsigned char (&uuid)[16]) {
    std::random_device random;
    std::generate(std::begin(uuid), std::end(uuid), [&random] {
        return static_cast<unsigned char>(random());
    });
}

format::Superblock superblock_of(uint64_t start_realtime_ns) {
    format::Superblock block = {};
    std::memcpy(block.magic, format::kMagic, sizeof(block.magic));
    block.major = format::kMajor;
    block.minor = format::kMinor;
    block.endian_mark = format::kEndianMark;
    block.chunk_bytes = format::kChunkBytes;
    block.tick_ns = format::kTickNs;
    make_uuid(block.file_uuid);
    block.start_realtime_ns = start_realtime_ns;
    block.header_xxh3 = XXH3_64bits(&block, offsetof(format::Superblock, header_xxh3));
    return block;
}

}  // namespace

TraceWriter::TraceWriter(const std::string& path, uint64_t start_realtime_ns) : file_(path) {
    const format::Superblock block = superblock_of(start_realtime_ns);
    std::vector<unsigned char> first(format::kSuperblockBytes);
    std::memcpy(first.data(), &block, sizeof(block));
    file_.write(first.data(), first.size());
    begin_definitions();
    begin_events();
}

// ---- definitions ------------------------------------------------------------------------------

uint32_t TraceWriter::string(const std::string& text) {
    // A longer string does not fit in a chunk.
    const std::string kept = text.substr(0, format::kPayloadBytes / 2);
    const auto [at, is_new] = strings_.try_emplace(kept, 0);
    if (is_new) {
        put_definition(format::DefType::kString, bytes_of(kept));
        at->second = ++definition_counts_[static_cast<size_t>(format::DefType::kString)];
    }
    return at->second;
}

template <class Definition>
uint32_t TraceWriter::define(format::DefType type, const Definition& definition, uint32_t tag) {
    Payload body(kMaxFieldBytes);
    body.resize(static_cast<size_t>(format::put_fields(body.data(), definition) - body.data()));
    const auto [at, is_new] = known_.try_emplace({type, body, tag}, 0);
    if (is_new) {
        put_definition(type, body);
        at->second = ++definition_counts_[static_cast<size_t>(type)];
    }
    return at->second;
}

uint32_t TraceWriter::python_frame(const std::string& file,
                                   uint32_t line,
                                   const std::string& name) {
    const uint32_t name_id = string(name);
    return define(format::DefType::kPythonFrame,
                  format::PythonFrame{string(file), name_id, name_id, line, 0});
}

uint32_t TraceWriter::python_node(uint32_t parent, uint32_t frame) {
    return define(format::DefType::kPythonNode, format::StackNode{parent, frame});
}

uint32_t TraceWriter::stream(uint64_t handle) {
    return handle == 0 ? 0 : define(format::DefType::kStream, format::Stream{handle});
}

uint32_t TraceWriter::context(uint32_t python_node, uint32_t flags, uint32_t tag) {
    const uint32_t count = definition_counts_[static_cast<size_t>(format::DefType::kContext)];
    const uint32_t context =
        define(format::DefType::kContext, format::Context{0, python_node, 0, 0, 0, flags}, tag);
    if (tag != 0 && context > count) {
        Payload body;
        put_number(body, context);
        put_number(body, tag);
        put_definition(format::DefType::kContextTag, body);
    }
    return context;
}

void TraceWriter::meta(const std::string& key, const std::string& value) {
    Payload body;
    put_number(body, key.size());
    body.insert(body.end(), key.begin(), key.end());
    body.insert(body.end(), value.begin(), value.end());
    put_definition(format::DefType::kMeta, body);
}

void TraceWriter::put_definition(format::DefType type, const Payload& body) {
    const Payload record = record_of(static_cast<uint64_t>(type), body);
    if (!has_room(definitions_, record.size())) {
        write(definitions_, false);
        begin_definitions();
    }
    definitions_.payload.insert(definitions_.payload.end(), record.begin(), record.end());
    ++definitions_.header.event_count;
}

// ---- events -----------------------------------------------------------------------------------

uint64_t TraceWriter::alloc(uint64_t tick, const WrittenAlloc& block) {
    if (!has_room(events_, kMaxEventBytes)) {
        write(events_, false);
        begin_events();
    }
    Payload body;
    body.reserve(kMaxEventBytes);
    for (const uint64_t number :
         {uint64_t{block.context},
          uint64_t{block.device},
          uint64_t{block.stream},
          block.requested_bytes,
          format::zigzag(static_cast<int64_t>(block.block_bytes - block.requested_bytes))}) {
        put_number(body, number);
    }
    unsigned char coded[format::kMaxVarintBytes];
    body.insert(body.end(), coded, format::put_address(coded, block.address, address_));
    put_event(tick, format::Op::kAllocInline, body);
    address_ = block.address;
    live_bytes_ += block.block_bytes;
    format::ChunkHeader& header = events_.header;
    header.max_live_bytes = std::max(header.max_live_bytes, live_bytes_);
    return ordinal_++;
}

void TraceWriter::free(
    uint64_t tick, uint64_t ordinal, uint64_t bytes, FreeKind kind, uint32_t context) {
    Payload body;
    body.reserve(kMaxEventBytes);
    put_number(body, ordinal_ - ordinal);
    live_bytes_ -= kind != FreeKind::kCompleted ? std::min(bytes, live_bytes_) : 0;
    if (kind == FreeKind::kCompleted) {
        put_extended(tick, format::ExtendedType::kFreeCompleted, body);
        return;
    }
    if (context != 0) {
        put_number(body, context);
    }
    if (kind == FreeKind::kDeferred) {
        put_extended(tick, format::ExtendedType::kFreeDeferred, body);
    } else if (context != 0) {
        put_extended(tick, format::ExtendedType::kFreeWithContext, body);
    } else {
        put_event(tick, format::Op::kFree, body);
    }
}

void TraceWriter::put_extended(uint64_t tick, format::ExtendedType type, const Payload& body) {
    put_event(tick, format::Op::kExtended, record_of(static_cast<uint64_t>(type), body));
}

void TraceWriter::put_event(uint64_t tick, format::Op op, const Payload& body) {
    if (!has_room(events_, kMaxEventBytes)) {
        write(events_, false);
        begin_events();
    }
    const uint64_t passed = tick > tick_ ? tick - tick_ : 0;
    tick_ += passed;
    const auto op_bits = static_cast<unsigned>(op) << 6;
    if (passed <= format::kDtMax) {
        events_.payload.push_back(static_cast<unsigned char>(op_bits | passed));
    } else {
        events_.payload.push_back(static_cast<unsigned char>(op_bits | format::kDtFollows));
        put_number(events_.payload, passed);
    }
    events_.payload.insert(events_.payload.end(), body.begin(), body.end());
    ++events_.header.event_count;
    ++event_count_;
}

// ---- chunks -----------------------------------------------------------------------------------

void TraceWriter::put_number(Payload& out, uint64_t value) {
    unsigned char coded[format::kMaxVarintBytes];
    out.insert(out.end(), coded, format::put_uv(coded, value));
}

TraceWriter::Payload TraceWriter::record_of(uint64_t type, const Payload& body) {
    Payload record;
    record.reserve(body.size() + size_t{2} * format::kMaxVarintBytes);
    put_number(record, type);
    put_number(record, body.size());
    record.insert(record.end(), body.begin(), body.end());
    return record;
}

bool TraceWriter::has_room(const Chunk& chunk, size_t bytes) const {
    return chunk.payload.size() + bytes <= format::kPayloadBytes;
}

void TraceWriter::begin_definitions() {
    definitions_ = Chunk();
    definitions_.header.type = static_cast<uint16_t>(format::ChunkType::kDefs);
    for (size_t type = 0; type < format::kDefTypeCount; ++type) {
        definitions_.header.first_ids[type] = definition_counts_[type] + 1;
    }
}

void TraceWriter::begin_events() {
    events_ = Chunk();
    format::ChunkHeader& header = events_.header;
    header.type = static_cast<uint16_t>(format::ChunkType::kEvents);
    header.first_event = event_count_;
    header.first_ordinal = ordinal_;
    header.first_tick = tick_;
    header.base_address = address_;
    header.live_bytes = live_bytes_;
    header.max_live_bytes = live_bytes_;
}

void TraceWriter::write(Chunk& chunk, bool is_last) {
    format::ChunkHeader& header = chunk.header;
    const bool has_ids = header.type == static_cast<uint16_t>(format::ChunkType::kDefs);
    header.magic = format::kChunkMagic;
    header.flags = format::kChunkSealed;
    header.index = chunk_count_++;
    header.committed = static_cast<uint32_t>(chunk.payload.size());
    header.payload_xxh3 =
        XXH3_64bits_withSeed(chunk.payload.data(),
                             chunk.payload.size(),
                             has_ids ? XXH3_64bits(header.first_ids, sizeof(header.first_ids)) : 0);
    if (!is_last) {
        chunk.payload.resize(format::kPayloadBytes);
    }
    file_.write(&header, sizeof(header));
    file_.write(chunk.payload.data(), chunk.payload.size());
}

void TraceWriter::finish() {
    write(definitions_, false);
    write(events_, true);
    file_.finish();
}

}  // namespace peakline::report
