#include "fragmentation_report.h"

#include <algorithm>

#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"

namespace peakline::report {
namespace {

constexpr FreeCause kFreeCauses[] = {FreeCause::kWhole,
                                     FreeCause::kPinned,
                                     FreeCause::kUnit,
                                     FreeCause::kPartial,
                                     FreeCause::kPrivate};

const char* meaning_of(FreeCause cause) {
    static constexpr const char* kMeanings[] = {
        "free: segments without a block, empty_cache() returns them",
        "free: pinned beside blocks in their segments",
        "free: whole units of expandable segments, empty_cache() returns them",
        "free: the rest of units of expandable segments",
        "free: in private pools (graphs, MemPool), for nobody else"};
    return kMeanings[static_cast<size_t>(cause)];
}

void put_causes(Document& document, const ReservedCauses& causes) {
    DocumentTable table(
        document,
        nullptr,
        {{nullptr, "Mem"}, {nullptr, "%"}, {nullptr, "Why it is reserved", Align::kLeftWhole}});
    const auto add = [&](uint64_t bytes, const std::string& what) {
        const double share =
            causes.reserved_bytes == 0
                ? 0
                : static_cast<double>(bytes) / static_cast<double>(causes.reserved_bytes);
        if (bytes != 0) {
            table.add({bytes_cell(bytes), percent_cell(share), cell(what)});
        }
    };
    add(causes.live_bytes, "live");
    add(causes.rounding_bytes, "  of it rounding to 512 bytes");
    add(causes.division_bytes, "  of it rounding by roundup_power2_divisions");
    add(causes.unsplit_bytes, "  of it remainders that were not split off");
    add(causes.waiting_bytes, "freed, in use by another stream");
    for (const FreeCause cause : kFreeCauses) {
        add(causes.free(cause), meaning_of(cause));
    }
    JsonWriter& json = document.fields().key("causes").begin_object();
    json.field("live", causes.live_bytes).field("waiting", causes.waiting_bytes);
    for (const FreeCause cause : kFreeCauses) {
        json.field(cause_name(cause), causes.free(cause));
    }
    json.end_object().key("live_parts").begin_object();
    json.field("rounding", causes.rounding_bytes).field("divisions", causes.division_bytes);
    json.field("unsplit", causes.unsplit_bytes).end_object();
    json.field("largest_hole_bytes", causes.largest_hole_bytes);
}

void put_lines(Document& document, const StateReport& report) {
    const SegmentPins& pins = report.pins;
    DocumentTable table(document,
                        "lines",
                        {{"sole_bytes", "Goes back"},
                         {"sole_free_bytes", "Of it free"},
                         {"shared_bytes", "Shared"},
                         {"own_bytes", "Own"},
                         {"median_lived_seconds", "Lived"},
                         {"longest_lived_seconds", "Longest"},
                         {"freed_count", "Freed"},
                         {"location", "If its blocks were gone", Align::kLeft},
                         hidden("count"),
                         hidden("oldest_seconds")});
    const uint64_t shown = shown_count(report.top, pins.lines.size());
    for (size_t i = 0; i < shown; ++i) {
        const SegmentPin& pin = pins.lines[i];
        table.add(
            {bytes_cell(pin.sole_bytes),
             bytes_cell(pin.sole_free_bytes),
             bytes_cell(pin.shared_bytes),
             bytes_cell(pin.own_bytes),
             seconds_cell(report.reader.seconds(pin.median_ticks)),
             seconds_cell(report.reader.seconds(pin.longest_ticks)),
             cell(pin.freed_count)
                 .shown_as(format_count(pin.freed_count) + " of " + format_count(pin.block_count)),
             line_cell(report.paths, {report.lines.labels[pin.line]}),
             cell(pin.block_count),
             cell(report.reader.seconds(pin.oldest_tick))});
    }
    table.leave_out(pins.lines.size() - shown, "more lines");
}

void put_sets(Document& document, const StateReport& report) {
    const SegmentPins& pins = report.pins;
    JsonWriter& json = document.fields().key("sets").begin_array();
    for (const PinningSet& set : pins.sets) {
        document.show_empty_line();
        document.say("Together " + format_bytes(set.bytes) + ":");
        json.begin_object().field("bytes", set.bytes).key("locations").begin_array();
        for (const uint32_t line : set.lines) {
            document.say("  " + label_text(report.paths, report.lines.labels[line]),
                         Tone::kVerbatim);
            json.value(label_text(report.paths, report.lines.labels[line]));
        }
        json.end_array().end_object();
    }
    json.end_array();
}

void put_head(Document& document, const StateReport& report) {
    const ReservedCauses& causes = report.causes;
    const AllocatorState& state = report.state;
    const double seconds = report.reader.seconds(state.tick);
    JsonWriter& json = document.fields().field("schema_version", 1);
    put_run_facts(json, report.reader);
    put_simulated(document, report.reader);
    json.field("at", report.at).field("seconds", seconds).field("device", state.device);
    json.field("reserved_bytes", causes.reserved_bytes);
    json.field("outside_bytes", state.outside_bytes);
    json.text_or_null("settings_fault", state.settings_fault);
    document.say_lines(head_text(report.reader));
    document.say("Device " + std::to_string(state.device) + " at " + report.at +
                 " (t=" + format_seconds(seconds) + "): " + format_bytes(causes.reserved_bytes) +
                 " reserved in " + format_count(state.segments.size()) +
                 " segments, largest hole " + format_bytes(causes.largest_hole_bytes));
    if (state.outside_bytes != 0) {
        document.say(format_bytes(state.outside_bytes) +
                     " of blocks lie in segments from before the recording");
    }
    document.say(state.settings_fault);
    document.show_empty_line();
}

// Characters of free pieces in the map; put_map() adds the legend.
char character_of(FreeCause cause) {
    constexpr char kCells[] = {' ', '.', '_', ':', '-'};
    return kCells[static_cast<size_t>(cause)];
}

// Each cell shows the block or the free piece that covers most of it.
std::string cells_of(const StateReport& report, const StateSegment& segment, size_t count) {
    std::string cells(count, ' ');
    std::vector<uint64_t> most(count, 0);
    const auto paint = [&](uint64_t address, uint64_t bytes, char cell) {
        const uint64_t width = std::max<uint64_t>(1, segment.bytes / count);
        const uint64_t begin = address - segment.address;
        const uint64_t end = begin + bytes;
        for (uint64_t i = begin / width; i < count && i * width < end; ++i) {
            const uint64_t cell_end = i + 1 == count ? segment.bytes : (i + 1) * width;
            const uint64_t covered = std::min(end, cell_end) - std::max(begin, i * width);
            if (covered > most[i]) {
                most[i] = covered;
                cells[i] = cell;
            }
        }
    };
    for (const StateBlock& block : segment.blocks) {
        paint(block.address, block.bytes, block.is_waiting ? 'w' : '#');
    }
    const bool is_used = report.state.used_pools.count(segment.pool) != 0;
    for (const FreePiece& piece : free_pieces(segment, is_used)) {
        paint(piece.address, piece.bytes, character_of(piece.cause));
    }
    return cells;
}

std::string kind_of(const StateSegment& segment) {
    std::string text = segment.is_expandable ? "expandable" : "";
    if (segment.pool != 0) {
        text += (text.empty() ? "" : ", ") + ("pool " + std::to_string(segment.pool));
    }
    return text;
}

// Sorted by address.
void put_segments(JsonWriter& json, const StateReport& report) {
    json.key("segments").begin_array();
    for (const StateSegment& segment : report.state.segments) {
        json.begin_object().field("address", segment.address).field("bytes", segment.bytes);
        json.field("stream", report.reader.definitions().streams[segment.stream]);
        json.field("pool", segment.pool).field("is_expandable", segment.is_expandable);
        json.key("blocks").begin_array();
        for (const StateBlock& block : segment.blocks) {
            json.begin_object().field("address", block.address).field("bytes", block.bytes);
            json.field("requested_bytes", block.requested_bytes);
            json.field("is_waiting", block.is_waiting);
            json.field("location",
                       label_text(report.paths,
                                  report.lines.labels[report.lines.number_of(block.context)]));
            json.end_object();
        }
        json.end_array().key("holes").begin_array();
        const bool is_used = report.state.used_pools.count(segment.pool) != 0;
        for (const FreePiece& piece : free_pieces(segment, is_used)) {
            json.begin_object().field("address", piece.address).field("bytes", piece.bytes);
            json.field("cause", cause_name(piece.cause)).end_object();
        }
        json.end_array().end_object();
    }
    json.end_array();
}

// Largest segments first.
void show_segments(Document& document, const StateReport& report) {
    constexpr size_t kCells = 40;
    std::vector<const StateSegment*> segments;
    for (const StateSegment& segment : report.state.segments) {
        segments.push_back(&segment);
    }
    std::stable_sort(segments.begin(), segments.end(), [](const auto* one, const auto* two) {
        return one->bytes > two->bytes;
    });
    DocumentTable table(document,
                        nullptr,
                        {{nullptr, "Segment"},
                         {nullptr, "Stream"},
                         {nullptr, "Blocks"},
                         {nullptr, "Map", Align::kLeftWhole},
                         {nullptr, "", Align::kLeft}});
    const uint64_t shown = shown_count(report.top, segments.size());
    for (size_t i = 0; i < shown; ++i) {
        const StateSegment& segment = *segments[i];
        table.add({bytes_cell(segment.bytes),
                   cell(segment.stream),
                   count_cell(segment.blocks.size()),
                   cell("|" + cells_of(report, segment, kCells) + "|"),
                   cell(kind_of(segment))});
    }
    table.leave_out(segments.size() - shown, "smaller segments");
}

}  // namespace

void put_fragmentation(Document& document, const StateReport& report) {
    put_head(document, report);
    put_causes(document, report.causes);
    document.show_empty_line();
    put_lines(document, report);
    document.say("Lived, Longest: median and most, until freed or the end; Freed: how many were");
    put_sets(document, report);
}

void put_map(Document& document, const StateReport& report) {
    put_head(document, report);
    if (!document.is_for_people()) {
        put_segments(document.fields(), report);
        return;
    }
    show_segments(document, report);
    document.say_lines(
        "# live  w freed, in use by another stream  . pinned  : rest of a unit\n"
        "_ unit and empty: returned by empty_cache()  - private pool");
}

}  // namespace peakline::report
