// Reads the DEFS chunks one after another, and finds definitions by id.
#include "definitions.h"

#include <algorithm>
#include <span>

#include "compiled_code.h"
#include "definition_decoder.h"

namespace peakline::report {
namespace {

// Returns the problem, or "" when every record of the payload was decoded.
std::string decode_payload(std::span<const unsigned char> payload, DefinitionDecoder& decoder) {
    FieldCursor cursor(payload);
    while (cursor.at < cursor.end) {
        const auto offset = cursor.at - payload.data();
        TypedRecord record;
        if (!next_typed_record(cursor, &record)) {
            return "its definition at byte " + std::to_string(offset) + " is cut";
        }
        decoder.decode(record);
    }
    return {};
}

// Returns why definitions of the chunk are lost, or "" when all were decoded.
std::string read_chunk(const ByteSource& source,
                       const ChunkEntry& chunk,
                       uint64_t number,
                       DefinitionDecoder& decoder) {
    std::vector<unsigned char> scratch;
    std::span<const unsigned char> payload;
    const ChunkState state = read_payload(source, chunk, number, scratch, &payload);
    if (state == ChunkState::kChecksumDiffers) {
        return "its checksum differs: chunk skipped";
    }
    if (!decoder.begin_chunk(chunk.header)) {
        return "the ids in its header do not follow those before it: chunk skipped";
    }
    return decode_payload(payload, decoder);
}

// A chunk of an unreadable type may have been a DEFS chunk.
bool may_define(const ChunkEntry& chunk) {
    return chunk.header.type != static_cast<uint16_t>(format::ChunkType::kEvents) &&
           chunk.header.type != static_cast<uint16_t>(format::ChunkType::kSummary);
}

// Finds the block of an ordinal in `blocks`, which are sorted; an empty block if there is none.
template <class Block>
Block block_at(const std::vector<Block>& blocks, uint64_t ordinal) {
    const auto found = std::ranges::lower_bound(blocks, ordinal, {}, &Block::ordinal);
    return found != blocks.end() && found->ordinal == ordinal ? *found : Block();
}

}  // namespace

bool set_shape(AllocationShape* shape, uint64_t device, uint64_t requested, int64_t rounding) {
    if (device >= kMaxDevices || requested > kMaxBlockBytes ||
        rounding > static_cast<int64_t>(kMaxBlockBytes) ||
        rounding < -static_cast<int64_t>(requested)) {
        return false;
    }
    shape->device = static_cast<uint32_t>(device);
    shape->requested_bytes = requested;
    shape->block_bytes = requested + static_cast<uint64_t>(rounding);
    return true;
}

const Instance& Definitions::instance(uint32_t id) const {
    static constexpr Instance kNone{};
    return id - 1 < instances.size() ? instances[id - 1] : kNone;
}

const Tensor& Definitions::tensor(uint32_t id) const {
    static constexpr Tensor kNone{};
    return id - 1 < tensors.size() ? tensors[id - 1] : kNone;
}

uint32_t Definitions::tensor_of(uint64_t ordinal) const {
    const uint32_t id = block_at(tensor_blocks, ordinal).tensor;
    return tensor(id).kind != format::TensorKind{} ? id : 0;
}

const TensorType& Definitions::tensor_type(uint32_t id) const {
    static const TensorType none{};
    return id - 1 < tensor_types.size() ? tensor_types[id - 1] : none;
}

uint32_t Definitions::type_of(uint64_t ordinal) const {
    const uint32_t id = block_at(block_types, ordinal).type;
    return tensor_type(id).dtype != 0 ? id : 0;
}

std::string_view Definitions::tag_of(uint32_t context_id) const {
    const auto found = context_tags.find(context_id);
    return found == context_tags.end() ? std::string_view() : text(found->second);
}

std::string_view Definitions::meta_text(const std::string& key) const {
    const auto found = meta.find(key);
    return found == meta.end() ? std::string_view() : std::string_view(found->second);
}

Definitions read_definitions(const ByteSource& source,
                             const std::vector<ChunkEntry>& chunks,
                             Problems& problems) {
    Definitions definitions;
    DefinitionDecoder decoder(&definitions);
    for (uint64_t number = 0; number < chunks.size(); ++number) {
        if (!may_define(chunks[number])) {
            continue;
        }
        if (!chunks[number].readable) {
            // The index has reported it. The next chunk's header shows whether it held definitions.
            decoder.note_loss();
            continue;
        }
        const std::string reason = read_chunk(source, chunks[number], number, decoder);
        if (!reason.empty()) {
            decoder.note_loss();
            problems.add(source.name() + ": chunk " + std::to_string(number) +
                         " (definitions): " + reason);
        }
    }
    decoder.finish();
    if (decoder.lost_count() != 0) {
        problems.add(source.name() + ": " + std::to_string(decoder.lost_count()) +
                     " definitions are lost with damaged chunks: reports show them as '" +
                     kLostName + "'");
    }
    if (decoder.faulty_count() != 0) {
        problems.add(source.name() + ": " + std::to_string(decoder.faulty_count()) +
                     " definitions refer to undefined ids: shown without a location");
    }
    place_compiled_lines(&definitions);
    return definitions;
}

}  // namespace peakline::report
