// The order of opening: superblock, chunk headers, definitions, summary. Headers are looked at
// before definitions, so in a trace that is still being written every event we will read finds
// its definition.
#include "reader.h"

#include <algorithm>
#include <utility>

namespace peakline::report {

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
    return TraceReader(ByteSource::open_file(path));
}

TraceReader TraceReader::from_memory(std::string name, std::span<const unsigned char> bytes) {
    return TraceReader(ByteSource::borrow(std::move(name), bytes));
}

bool TraceReader::has_events() const {
    return std::any_of(chunks_.begin(), chunks_.end(), [](const ChunkPlace& place) {
        return place.is(format::ChunkType::kEvents);
    });
}

uint64_t TraceReader::max_alloc_count() const {
    const uint64_t baseline = checkpoint_.has_value() ? checkpoint_->blocks.size() : 0;
    return chunks_.size() * kMaxAllocsInChunk + baseline;
}

}  // namespace peakline::report
