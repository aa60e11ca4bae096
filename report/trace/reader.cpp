// Opens in this order: superblock, chunk headers, definitions, summary. Headers are read before
// definitions, so in a trace that is still being written every event we will read finds its
// definition.
#include "reader.h"

#include <algorithm>
#include <utility>

#include "report/trace/file/stable_copy.h"

namespace peakline::report {
namespace {

struct NoVisitor {
    void on_alloc_class(uint64_t, uint64_t, uint32_t, uint64_t) {}
    void on_alloc_inline(uint64_t, uint64_t, const AllocationShape&, uint64_t) {}
    void on_free(uint64_t, uint64_t, FreeKind, uint32_t) {}
    void on_unmatched_free(uint64_t) {}
    void on_rare(uint64_t, const RareEvent&) {}
};

}  // namespace

TraceReader::TraceReader(ByteSource source)
    : source_(std::move(source)),
      superblock_(read_superblock(source_, problems_)),
      chunks_(index_chunks(source_, superblock_, problems_)),
      definitions_(read_definitions(source_, chunks_, problems_)) {
    if (!is_bounded()) {
        summary_ = read_summary(source_, chunks_, definitions_, problems_);
        return;
    }
    checkpoint_ = read_checkpoint(source_, chunks_, definitions_, problems_);
    if (checkpoint_.has_value()) {
        order_from(*checkpoint_, chunks_);
    } else {
        chunks_.clear();
    }
}

TraceReader TraceReader::open_file(const std::string& path) {
    // See Note [Reading recycled chunks]. A checkpoint comes after a megabyte of events or more.
    constexpr int kMostTries = 20;
    for (int tries = 1;; ++tries) {
        TraceReader reader(stable_copy(ByteSource::open_file(path)));
        const bool can_be_better = reader.is_bounded() && reader.is_being_written();
        if (!can_be_better || reader.checkpoint() != nullptr || tries == kMostTries) {
            return reader;
        }
    }
}

TraceReader TraceReader::from_memory(std::string name, std::span<const unsigned char> bytes) {
    return TraceReader(ByteSource::borrow(std::move(name), bytes));
}

bool TraceReader::has_events() const {
    return std::any_of(chunks_.begin(), chunks_.end(), [](const ChunkEntry& chunk) {
        return chunk.is(format::ChunkType::kEvents);
    });
}

bool TraceReader::has_gpu_memory() const {
    const auto is_gpu = [](const SummaryView& view) { return !format::is_of_host(view.device); };
    const auto any_gpu = [&](const std::vector<SummaryView>& views) {
        return std::any_of(views.begin(), views.end(), is_gpu);
    };
    return any_gpu(summary_.views) || (checkpoint_.has_value() && any_gpu(checkpoint_->views)) ||
           std::any_of(chunks_.begin(), chunks_.end(), [](const ChunkEntry& chunk) {
               return chunk.is(format::ChunkType::kEvents) && chunk.header.max_live_bytes != 0;
           });
}

uint64_t TraceReader::max_alloc_count() const {
    const uint64_t baseline = checkpoint_.has_value() ? checkpoint_->blocks.size() : 0;
    return chunks_.size() * kMaxAllocsInChunk + baseline;
}

const RecordedTotals* TraceReader::whole_totals() const {
    if (!summary_.totals.has_value() || !problems_.empty()) {
        return nullptr;
    }
    uint64_t event_count = 0;
    for (const ChunkEntry& chunk : chunks_) {
        if (chunk.is(format::ChunkType::kEvents)) {
            if (!chunk.sealed() || chunk.header.first_event != event_count) {
                return nullptr;
            }
            event_count += chunk.header.event_count;
        }
    }
    return event_count == summary_.totals->event_count ? &*summary_.totals : nullptr;
}

const ViewsEnd* TraceReader::whole_views() const {
    const RecordedTotals* totals = whole_totals();
    const bool is_whole = totals != nullptr && summary_.views_end.has_value() &&
                          summary_.views_end->event_count == totals->event_count;
    return is_whole ? &*summary_.views_end : nullptr;
}

// Ticks never fall, so the last chunk that decodes has the last tick.
uint64_t TraceReader::last_tick() const {
    std::vector<unsigned char> scratch;
    for (auto chunk = chunks_.rbegin(); chunk != chunks_.rend(); ++chunk) {
        std::span<const unsigned char> payload;
        if (chunk->is(format::ChunkType::kEvents) &&
            read_payload(source_, *chunk, chunk->number, scratch, &payload) == ChunkState::kWhole) {
            StreamPosition position;
            position.tick = chunk->header.first_tick;
            NoVisitor nobody;
            EventDecoder<NoVisitor>(nobody, position).decode(payload);
            return position.tick;
        }
    }
    return 0;
}

}  // namespace peakline::report
