// Opens, seals and, in a bounded file, recycles the chunks of the trace.
#include "trace_writer.h"

#define XXH_INLINE_ALL
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include <xxhash.h>

namespace peakline::record {

using format::ChunkType;
using format::Op;

void TraceWriter::fail(int error) {
    error_ = error != 0 ? error : EIO;
    if (events_.base != nullptr) {
        const auto [code] = format::fields_of(format::Stopped{static_cast<uint64_t>(error_)});
        unsigned char body[format::kMaxVarintBytes];
        const auto length = static_cast<size_t>(format::put_uv(body, code) - body);
        unsigned char* out = events_.at;
        *out++ = static_cast<unsigned char>(static_cast<unsigned>(Op::kExtended) << 6);
        commit(events_,
               put_record(out, static_cast<uint64_t>(format::Stopped::kType), body, length));
    }
    seal_chunks();
    target_ = nullptr;
}

bool TraceWriter::make_room_slow(OpenChunk& chunk, ChunkType type, size_t bytes) {
    if (target_ == nullptr || bytes + kLastWordsBytes > format::kPayloadBytes) {
        return false;
    }
    uint64_t index = 0;
    unsigned char* base = next_chunk_slow(type, &index);
    if (base == nullptr) {
        if (!puts_totals_) {
            fail(target_->error());
        }
        return false;
    }
    seal_chunk(chunk);
    chunk.base = base;
    chunk.index = index;
    chunk.at = base + sizeof(format::ChunkHeader);
    format::ChunkHeader* header = chunk.header();
    header->type = static_cast<uint16_t>(type);
    header->index = chunk.index;
    if (type == ChunkType::kEvents) {
        header->first_event = event_count_;
        header->first_ordinal = ordinal_count_;
        header->first_tick = last_tick_;
        header->base_address = last_address_;
        header->live_bytes = live_bytes_;
        peak_before_chunk_ = std::max(peak_before_chunk_, max_live_bytes_);
        header->max_live_bytes = max_live_bytes_ = live_bytes_;
        // Room for the writes of one more call of the recorder before the next check.
        const bool is_last = recycles() && ++events_chunks_ >= segment_chunks_;
        checkpoint_at_ = is_last ? base + format::kChunkBytes - 1024 : never_due();
        find_repeats_end();
    } else if (type == ChunkType::kDefs) {
        for (size_t i = 0; i < format::kDefTypeCount; ++i) {
            header->first_ids[i] = emitted_[i] + 1;
        }
    }
    // release: a reader that sees the magic sees the header.
    std::atomic_ref<uint32_t>(header->magic).store(format::kChunkMagic, std::memory_order_release);
    return true;
}

// Definitions are read in the order of the file and never released: their chunks are always new.
unsigned char* TraceWriter::next_chunk_slow(ChunkType type, uint64_t* index) {
    const bool from_ring = recycles() && type != ChunkType::kDefs;
    const uint64_t limit = keep_.bytes / format::kChunkBytes;
    if (from_ring && keep_.kind == Keep::Kind::kLast && ring_.free_count() == 0 &&
        next_chunk_ >= limit && ring_.segment_count() > 2) {
        release_oldest_slow();
    }
    const bool is_used_one = from_ring && ring_.take_free(index);
    if (!is_used_one) {
        *index = next_chunk_;
    }
    unsigned char* base = target_->open_chunk_slow(*index);
    if (base == nullptr || (from_ring && !ring_.add(*index))) {
        return nullptr;
    }
    if (is_used_one) {
        std::memset(base, 0, sizeof(format::ChunkHeader));
    } else {
        ++next_chunk_;
    }
    return base;
}

void TraceWriter::release_oldest_slow() {
    ring_.release_oldest([this](uint64_t index) { target_->clear_chunk_slow(index); });
}

void TraceWriter::seal_chunk(OpenChunk& chunk) {
    if (chunk.base == nullptr) {
        return;
    }
    format::ChunkHeader* header = chunk.header();
    sealed_bytes_ += header->committed;
    const bool defines = header->type == static_cast<uint16_t>(ChunkType::kDefs);
    const uint64_t seed = defines ? XXH3_64bits(header->first_ids, sizeof header->first_ids) : 0;
    header->payload_xxh3 =
        XXH3_64bits_withSeed(chunk.base + sizeof *header, header->committed, seed);
    std::atomic_ref<uint16_t>(header->flags).store(format::kChunkSealed, std::memory_order_release);
    if (chunk.index + 1 == next_chunk_) {
        last_chunk_bytes_ = sizeof *header + header->committed;
    }
    target_->close_chunk(chunk.index, chunk.base);
    chunk = OpenChunk{};
    find_repeats_end();
}

void TraceWriter::seal_chunks() {
    seal_chunk(events_);
    seal_chunk(definitions_);
    seal_chunk(summary_);
}

void TraceWriter::seal() {
    if (target_ != nullptr) {
        seal_chunks();
        target_->trim(next_chunk_, last_chunk_bytes_);
    }
}

void TraceWriter::close() {
    seal();
    target_ = nullptr;
}

void TraceWriter::abandon() {
    target_ = nullptr;
    find_repeats_end();
}

}  // namespace peakline::record
