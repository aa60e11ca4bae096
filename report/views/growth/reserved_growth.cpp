#include "reserved_growth.h"

#include <algorithm>
#include <utility>

namespace peakline::report {
namespace {

constexpr size_t kLeastStreams = 3;

GrowthMoments without_earlier(GrowthMoments moments) {
    moments.first_units.erase(
        moments.first_units.begin(),
        moments.first_units.begin() + static_cast<std::ptrdiff_t>(moments.earlier_count));
    moments.earlier_count = 0;
    return moments;
}

}  // namespace

ReservedSampler::ReservedSampler(const Definitions& definitions,
                                 GrowthMoments moments,
                                 uint32_t device)
    : device_(device),
      moments_(without_earlier(std::move(moments))),
      level_(definitions, device, DriverMeasure::kReserved) {}

void ReservedSampler::restore(const Checkpoint& checkpoint) {
    level_.restore(checkpoint);
    for (const BaselineBlock& block : checkpoint.blocks) {
        if (!block.is_deferred && block.shape.device == device_) {
            allocated_ += static_cast<int64_t>(block.shape.block_bytes);
        }
    }
    highest_ = allocated_;
}

void ReservedSampler::end_sample(uint64_t tick) {
    const SegmentPieces& pieces = level_.pieces();
    reserved_.bytes.push_back(static_cast<int64_t>(pieces.bytes()));
    reserved_.requested.push_back(reserved_.bytes.back());
    reserved_.counts.push_back(static_cast<int64_t>(pieces.by_address().size()));
    highest_of_sample_.push_back(std::exchange(highest_, allocated_));
    last_serials_.push_back(pieces.last_serial());
    ticks_.push_back(tick);
    // The last sample's segments are the ones to examine.
    is_over_ = next_bound() == UINT64_MAX;
}

std::optional<ReservedGrowth> ReservedSampler::finish(EventTime end, StackLookup& stacks) {
    before_event(end);
    ReservedGrowth growth;
    growth.fit = fit_growth(reserved_);
    if (growth.fit.kind != GrowthKind::kGrows || growth.fit.is_replaced) {
        return std::nullopt;
    }
    const size_t last = reserved_.bytes.size() - 1;
    const size_t begin = growth.fit.sample - 1;
    const auto highest_up_to = [this](size_t sample) {
        const auto from = highest_of_sample_.begin();
        return *std::max_element(from, from + static_cast<std::ptrdiff_t>(sample + 1));
    };
    growth.allocated_bytes = highest_up_to(last);
    const int64_t gained = reserved_.bytes[last] - reserved_.bytes[begin];
    if ((growth.allocated_bytes - highest_up_to(begin)) * 2 > gained) {
        return std::nullopt;
    }
    growth.begin_bytes = reserved_.bytes[begin];
    growth.end_bytes = reserved_.bytes[last];
    growth.is_certain = gained >= growth.end_bytes / 10;
    find_cause(last_serials_[begin], stacks, &growth);
    if (growth.rows.empty()) {
        return std::nullopt;  // damage: more pieces, but none of them new
    }
    growth.moments = std::move(moments_);
    growth.ticks = std::move(ticks_);
    return growth;
}

void ReservedSampler::find_cause(uint64_t last_old_serial,
                                 StackLookup& stacks,
                                 ReservedGrowth* growth) const {
    std::map<std::string, ReservedRow> rows;
    std::set<uint32_t> old_streams;
    std::map<uint32_t, uint64_t> bytes_of_stream;
    uint64_t new_bytes = 0;
    uint64_t bytes_in_pools = 0;
    for (const auto& [address, piece] : level_.pieces().by_address()) {
        if (piece.serial <= last_old_serial) {
            old_streams.insert(piece.stream);
            continue;
        }
        new_bytes += piece.bytes;
        bytes_in_pools += piece.pool != 0 ? piece.bytes : 0;
        bytes_of_stream[piece.stream] += piece.bytes;
        LiveBlocks asked;
        level_.add_piece(piece, &asked);
        for (const BlockGroup& group : asked.groups) {
            Label line = row_by_line(stacks, group).label;
            ReservedRow& row = rows[keys_of_labels({line}).front()];
            row.line = std::move(line);
            row.bytes += group.block_bytes;
            ++row.segment_count;
            row.streams.insert(piece.stream);
            if (piece.pool != 0) {
                row.pools.insert(piece.pool);
            }
        }
    }
    uint64_t bytes_on_new_streams = 0;
    size_t new_stream_count = 0;
    for (const auto& [stream, bytes] : bytes_of_stream) {
        if (old_streams.count(stream) == 0) {
            bytes_on_new_streams += bytes;
            ++new_stream_count;
        }
    }
    growth->cause = bytes_in_pools > new_bytes / 2 ? ReservedCause::kPools
                    : new_stream_count >= kLeastStreams && bytes_on_new_streams > new_bytes / 2
                        ? ReservedCause::kStreams
                        : ReservedCause::kFragments;
    for (auto& [key, row] : rows) {
        growth->rows.push_back(std::move(row));
    }
    std::stable_sort(growth->rows.begin(), growth->rows.end(), [](const auto& a, const auto& b) {
        return a.bytes > b.bytes;
    });
}

}  // namespace peakline::report
