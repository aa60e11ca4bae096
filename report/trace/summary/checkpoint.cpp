#include "checkpoint.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "report/trace/definitions/event_ids.h"
#include "report/trace/file/field_cursor.h"

namespace peakline::report {
namespace {

using format::ChunkType;
using format::SummaryType;

struct Part {
    uint64_t generation = 0;
    uint64_t part = 0;
};

class CheckpointDecoder {
public:
    explicit CheckpointDecoder(const Definitions& definitions) : definitions_(definitions) {}

    // False when the payload belongs to another checkpoint or one of its records does not decode.
    bool decode_part(std::span<const unsigned char> payload, uint64_t generation, uint64_t part) {
        FieldCursor cursor(payload);
        bool begins = false;
        while (cursor.at < cursor.end) {
            TypedRecord record;
            if (!next_typed_record(cursor, &record)) {
                return false;
            }
            if (begins ? !decode(record) : !decode_begin(record, generation, part)) {
                return false;
            }
            begins = true;
        }
        return begins;
    }

    bool is_whole() const { return is_whole_; }

    Checkpoint take() {
        auto& blocks = checkpoint_.blocks;
        std::sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) {
            return a.back > b.back;
        });
        for (const BaselineBlock& block : blocks) {
            checkpoint_.backs.push_back(block.back);
        }
        checkpoint_.steps = steps_.take();
        return std::move(checkpoint_);
    }

private:
    bool decode_begin(const TypedRecord& record, uint64_t generation, uint64_t part) {
        FieldCursor cursor(record.body);
        const bool right = record.type == static_cast<uint32_t>(SummaryType::kCheckpoint) &&
                           cursor.uv() == generation && cursor.uv() == part;
        checkpoint_.generation = generation;
        checkpoint_.first_event = cursor.uv();
        checkpoint_.next_ordinal = cursor.uv();
        checkpoint_.tick = cursor.uv();
        checkpoint_.tracing = cursor.uv() != 0;
        return right && cursor.good;
    }

    bool decode(const TypedRecord& record) {
        FieldCursor cursor(record.body);
        switch (static_cast<SummaryType>(record.type)) {
            case SummaryType::kView:
                return decode_view(cursor, &views().emplace_back());
            case SummaryType::kPeakGroup:
                return !views().empty() &&
                       decode_group(cursor, definitions_, views().back().at_peak);
            case SummaryType::kTrouble:
                checkpoint_.records_dropped = cursor.uv();
                checkpoint_.bytes_dropped = cursor.uv();
                return cursor.good;
            case SummaryType::kBaselineBlock:
                return decode_block(cursor);
            case SummaryType::kPhase:
                in_phase_ = true;
                checkpoint_.phases.emplace_back().name = cursor.uv32();
                checkpoint_.phases.back().depth = cursor.uv();
                return cursor.good;
            case SummaryType::kLimits:
                checkpoint_.dropped_phase_count = cursor.uv();
                return cursor.good;
            case SummaryType::kCheckpointEnd:
                is_whole_ = cursor.uv() == checkpoint_.generation;
                return cursor.good;
            case SummaryType::kStanding:
            case SummaryType::kDeviceUse:
            case SummaryType::kUnseenSegment:
                ++standing_count_;
                return decode_standing(record.type, cursor);
            case SummaryType::kStandingEnd:
                if (cursor.uv() == standing_count_ && cursor.good) {
                    checkpoint_.standing = std::move(standing_);
                }
                return cursor.good;
            case SummaryType::kStepHistory:
            case SummaryType::kStepSample:
            case SummaryType::kLevelChange:
            case SummaryType::kStepHistoryEnd:
                return steps_.decode(static_cast<SummaryType>(record.type), cursor, definitions_);
            case SummaryType::kRefused:
                return decode_refused(cursor);
            case SummaryType::kRefusedGroup:
                return !refusals_.last.empty() &&
                       decode_group(cursor, definitions_, refusals_.last.back().live);
            case SummaryType::kRefusalsEnd:
                refusals_.count = cursor.uv();
                if (refusals_.count >= refusals_.last.size()) {
                    checkpoint_.refusals = std::move(refusals_);
                }
                return cursor.good;
            case SummaryType::kLiveGroup:
            case SummaryType::kCheckpoint:
                return false;
            default:
                return true;  // of a newer minor version
        }
    }

    std::vector<SummaryView>& views() {
        return in_phase_ ? checkpoint_.phases.back().views : checkpoint_.views;
    }

    bool decode_block(FieldCursor cursor) {
        BaselineBlock block;
        block.back = cursor.uv();
        block.shape.context = definitions_.known_context(cursor.uv32());
        const uint64_t device = cursor.uv();
        block.shape.stream = definitions_.known_stream(cursor.uv32());
        const uint64_t requested = cursor.uv();
        const int64_t rounding = cursor.zz();
        block.address = address_ = format::apply_address(cursor.uv(), address_);
        block.is_deferred = (cursor.uv() & format::kBlockDeferred) != 0;
        block.shape.untraced = definitions_.is_untraced(block.shape.context);
        if (!cursor.good || block.back == 0 ||
            !set_shape(&block.shape, device, requested, rounding)) {
            return false;
        }
        checkpoint_.blocks.push_back(block);
        return true;
    }

    template <class Record>
    Record decode_record(FieldCursor& cursor) {
        RareEvent event = {Record::kType, {}};
        for (size_t i = 0; i < format::kFieldCount<Record>; ++i) {
            event.fields[i] = cursor.uv();
        }
        check_ids(&event, definitions_);
        return format::record_of<Record>(event.fields);
    }

    bool decode_refused(FieldCursor cursor) {
        EarlierRefusal& one = refusals_.last.emplace_back();
        one.tick = cursor.uv();
        one.request = decode_record<format::OutOfMemory>(cursor);
        one.refusal = decode_record<format::Refusal>(cursor);
        one.pool = cursor.uv();
        one.live_bytes = cursor.uv();
        one.reserved_bytes = cursor.uv();
        one.waiting_bytes = cursor.uv();
        return cursor.good && one.request.device < format::kDeviceCount;
    }

    bool decode_standing(uint32_t type, FieldCursor cursor) {
        switch (static_cast<SummaryType>(type)) {
            case SummaryType::kStanding: {
                const auto event_type = static_cast<format::ExtendedType>(cursor.uv32());
                RareEvent& event = standing_.records.emplace_back();
                return cursor.good && decode_rare(event_type, {cursor.at, cursor.end}, &event) &&
                       check_ids(&event, definitions_) != EventIds::kImpossible;
            }
            case SummaryType::kDeviceUse:
                return decode_use(cursor);
            default:
                break;
        }
        StandingState::Unseen& unseen = standing_.unseen.emplace_back();
        unseen.device = cursor.uv();
        unseen.address = cursor.uv();
        unseen.bytes = cursor.uv();
        return cursor.good && unseen.bytes <= kMaxBlockBytes;
    }

    bool decode_use(FieldCursor cursor) {
        record::DeviceUse& use = standing_.uses[cursor.uv()];
        use.total_bytes = cursor.uv();
        use.sampled_bytes = cursor.zz();
        use.asked_at_sample = cursor.zz();
        use.calls_since_sample = static_cast<int64_t>(cursor.uv());
        const uint64_t others = cursor.uv();
        use.knows_others = others != 0;
        use.other_bytes = others != 0 ? others - 1 : 0;
        for (int64_t& step : use.steps) {
            step = cursor.zz();
        }
        return cursor.good;
    }

    const Definitions& definitions_;
    Checkpoint checkpoint_;
    StandingState standing_;
    StepHistoryDecoder steps_;
    EarlierRefusals refusals_;
    uint64_t standing_count_ = 0;
    uint64_t address_ = 0;  // address of the previous block
    bool in_phase_ = false;
    bool is_whole_ = false;
};

// Reads the checkpoint and part numbers of a chunk; false if it holds no checkpoint.
bool read_part(std::span<const unsigned char> payload, Part* part) {
    FieldCursor cursor(payload);
    TypedRecord record;
    if (!next_typed_record(cursor, &record) ||
        record.type != static_cast<uint32_t>(SummaryType::kCheckpoint)) {
        return false;
    }
    FieldCursor fields(record.body);
    part->generation = fields.uv();
    part->part = fields.uv();
    return fields.good;
}

// Chunk numbers by generation, then part.
using Parts = std::map<uint64_t, std::map<uint64_t, uint64_t>>;

Parts find_parts(const ByteSource& source, const std::vector<ChunkEntry>& chunks) {
    Parts parts;
    std::vector<unsigned char> scratch;
    for (uint64_t number = 0; number < chunks.size(); ++number) {
        std::span<const unsigned char> payload;
        Part part;
        if (chunks[number].is(ChunkType::kSummary) &&
            read_payload(source, chunks[number], number, scratch, &payload) == ChunkState::kWhole &&
            read_part(payload, &part)) {
            parts[part.generation][part.part] = number;
        }
    }
    return parts;
}

std::optional<Checkpoint> decode_parts(const ByteSource& source,
                                       const std::vector<ChunkEntry>& chunks,
                                       const Definitions& definitions,
                                       const Parts::value_type& parts) {
    CheckpointDecoder decoder(definitions);
    std::vector<unsigned char> scratch;
    uint64_t expected_part = 0;
    for (const auto& [part, number] : parts.second) {
        std::span<const unsigned char> payload;
        if (part != expected_part++ ||
            read_payload(source, chunks[number], number, scratch, &payload) != ChunkState::kWhole ||
            !decoder.decode_part(payload, parts.first, part)) {
            return std::nullopt;
        }
    }
    return decoder.is_whole() ? std::optional(decoder.take()) : std::nullopt;
}

}  // namespace

const SummaryView* find_view(const std::vector<SummaryView>& views,
                             uint32_t device,
                             format::Measure measure) {
    const auto found = std::find_if(views.begin(), views.end(), [&](const SummaryView& view) {
        return view.device == device && view.measure == measure;
    });
    return found == views.end() ? nullptr : &*found;
}

const SummaryView* Checkpoint::view(uint32_t device, format::Measure measure) const {
    return find_view(views, device, measure);
}

std::optional<Checkpoint> read_checkpoint(const ByteSource& source,
                                          const std::vector<ChunkEntry>& chunks,
                                          const Definitions& definitions,
                                          Problems& problems) {
    const Parts all = find_parts(source, chunks);
    for (const auto& parts : all) {
        std::optional<Checkpoint> checkpoint = decode_parts(source, chunks, definitions, parts);
        if (checkpoint.has_value()) {
            return checkpoint;
        }
    }
    problems.add(source.name() +
                 ": no checkpoint can be read, so the blocks that were live when the kept events"
                 " begin are unknown: none of them is counted");
    return std::nullopt;
}

void order_from(const Checkpoint& checkpoint, std::vector<ChunkEntry>& chunks) {
    std::erase_if(chunks, [&checkpoint](const ChunkEntry& chunk) {
        return !chunk.readable ||
               (chunk.is(ChunkType::kEvents) && chunk.header.first_event < checkpoint.first_event);
    });
    for (ChunkEntry& chunk : chunks) {
        chunk.header.first_ordinal =
            chunk.header.first_ordinal - checkpoint.next_ordinal + checkpoint.blocks.size();
    }
    std::stable_sort(chunks.begin(), chunks.end(), [](const ChunkEntry& a, const ChunkEntry& b) {
        return a.header.first_event < b.header.first_event;
    });
}

}  // namespace peakline::report
