// Decodes SUMMARY payloads.
#include "summary.h"

#include <algorithm>
#include <string>

#include "report/trace/file/field_cursor.h"

namespace peakline::report {
namespace {

using format::SummaryType;

class SummaryDecoder {
public:
    SummaryDecoder(const Definitions& definitions, Summary* out)
        : definitions_(definitions), out_(*out) {}

    // False when the record is shorter than its fields or out of bounds.
    bool decode(const TypedRecord& record) {
        FieldCursor cursor(record.body);
        switch (static_cast<SummaryType>(record.type)) {
            case SummaryType::kView:
                return add_view(cursor);
            case SummaryType::kPeakGroup:
                return current_ != SIZE_MAX &&
                       decode_group(cursor, definitions_, out_.views[current_].at_peak);
            case SummaryType::kLiveGroup:
                return current_ != SIZE_MAX &&
                       decode_group(cursor, definitions_, out_.views[current_].live);
            case SummaryType::kTrouble:
                out_.records_dropped = cursor.uv();
                out_.bytes_dropped = cursor.uv();
                return cursor.good;
            case SummaryType::kViewsEnd:
                out_.views_end = ViewsEnd{cursor.uv(), cursor.uv()};
                return cursor.good;
            case SummaryType::kOutline:
                out_.outline.assign(record.body.begin(), record.body.end());
                return true;
            case SummaryType::kSources:
                out_.sources.assign(record.body.begin(), record.body.end());
                return true;
            default:  // records of totals, of checkpoints, or of a newer minor version
                return totals_.decode(static_cast<SummaryType>(record.type), cursor);
        }
    }

    void finish() { out_.totals = totals_.take(); }

private:
    bool add_view(FieldCursor cursor) {
        SummaryView view;
        current_ = SIZE_MAX;
        if (!decode_view(cursor, &view)) {
            return false;
        }
        const auto same =
            std::find_if(out_.views.begin(), out_.views.end(), [&view](const SummaryView& other) {
                return other.device == view.device && other.measure == view.measure;
            });
        current_ = static_cast<size_t>(same - out_.views.begin());
        if (same == out_.views.end()) {
            out_.views.push_back(std::move(view));
        } else {
            *same = std::move(view);
        }
        return true;
    }

    const Definitions& definitions_;
    Summary& out_;
    size_t current_ = SIZE_MAX;  // the view that groups belong to
    RecordedTotalsDecoder totals_;
};

// Returns the problem, or "" when the whole payload was decoded.
std::string decode_payload(std::span<const unsigned char> payload, SummaryDecoder& decoder) {
    FieldCursor cursor(payload);
    while (cursor.at < cursor.end) {
        const auto offset = cursor.at - payload.data();
        TypedRecord record;
        if (!next_typed_record(cursor, &record) || !decoder.decode(record)) {
            return ": the record at byte " + std::to_string(offset) +
                   " does not decode: rest of the chunk skipped";
        }
    }
    return {};
}

}  // namespace

bool decode_view(FieldCursor cursor, SummaryView* view) {
    view->device = cursor.uv32();
    const uint32_t measure = cursor.uv32();
    view->measure = static_cast<format::Measure>(measure);
    view->peak_bytes = cursor.uv();
    view->peak_tick = cursor.uv();
    view->level_bytes = cursor.uv();
    view->total_allocated_bytes = cursor.uv();
    view->alloc_count = cursor.uv();
    view->free_count = cursor.uv();
    return cursor.good && view->device < kMaxDevices &&
           measure <= static_cast<uint32_t>(format::Measure::kRequested);
}

bool decode_group(FieldCursor cursor,
                  const Definitions& definitions,
                  std::vector<SummaryGroup>& groups) {
    SummaryGroup group;
    group.context = cursor.uv32();
    group.requested_bytes = cursor.uv();
    group.block_bytes = cursor.uv();
    group.count = cursor.uv();
    // Older traces lack the stream.
    group.stream = cursor.at < cursor.end ? cursor.uv32() : 0;
    if (!cursor.good || !definitions.contexts.has(group.context) ||
        group.requested_bytes > kMaxBlockBytes || group.block_bytes > kMaxBlockBytes) {
        return false;
    }
    groups.push_back(group);
    return true;
}

Summary read_summary(const ByteSource& source,
                     const std::vector<ChunkEntry>& chunks,
                     const Definitions& definitions,
                     Problems& problems) {
    Summary summary;
    SummaryDecoder decoder(definitions, &summary);
    std::vector<unsigned char> scratch;
    for (uint64_t number = 0; number < chunks.size(); ++number) {
        if (!chunks[number].is(format::ChunkType::kSummary)) {
            continue;
        }
        std::span<const unsigned char> payload;
        const ChunkState state = read_payload(source, chunks[number], number, scratch, &payload);
        const std::string fault = state == ChunkState::kChecksumDiffers
                                      ? ": checksum differs: chunk skipped"
                                      : decode_payload(payload, decoder);
        if (!fault.empty()) {
            problems.add(source.name() + ": chunk " + std::to_string(number) + " (summary)" +
                         fault);
        }
    }
    decoder.finish();
    return summary;
}

}  // namespace peakline::report
