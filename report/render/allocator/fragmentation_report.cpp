#include "fragmentation_report.h"

#include "report/render/format/format_bytes.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/path_display.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "report/render/format/text_columns.h"
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

std::string line_text(const StateReport& report, uint32_t line) {
    return printable(label_text(report.paths, report.lines[line]));
}

SegmentPins pins_of_lines(const StateReport& report) {
    return find_pins(report.state, [&](uint32_t context) { return report.line_of(context); });
}

std::string causes_text(const ReservedCauses& causes) {
    using enum Align;
    TextColumns columns({kRight, kRight, kLeft}, {"Mem", "%", "Why it is reserved"});
    const auto add = [&](uint64_t bytes, const std::string& what) {
        const double share =
            causes.reserved_bytes == 0
                ? 0
                : static_cast<double>(bytes) / static_cast<double>(causes.reserved_bytes);
        if (bytes != 0) {
            columns.add({format_bytes(bytes), format_percent(share), what});
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
    return columns.text();
}

std::string pins_text(const StateReport& report, const SegmentPins& pins) {
    using enum Align;
    TextColumns columns({kRight, kRight, kRight, kRight, kRight, kRight, kRight, kLeft},
                        {"Goes back",
                         "Of it free",
                         "Shared",
                         "Own",
                         "Lived",
                         "Longest",
                         "Freed",
                         "If its blocks were gone"});
    const uint64_t shown = shown_count(report.top, pins.lines.size());
    for (size_t i = 0; i < shown; ++i) {
        const SegmentPin& pin = pins.lines[i];
        columns.add({format_bytes(pin.sole_bytes),
                     format_bytes(pin.sole_free_bytes),
                     format_bytes(pin.shared_bytes),
                     format_bytes(pin.own_bytes),
                     format_seconds(report.reader.seconds(pin.median_ticks)),
                     format_seconds(report.reader.seconds(pin.longest_ticks)),
                     format_count(pin.freed_count) + " of " + format_count(pin.block_count),
                     line_text(report, pin.line)});
    }
    std::string text = columns.text({}, report.paths.width);
    if (shown < pins.lines.size()) {
        text += "and " + format_count(pins.lines.size() - shown) + " more\n";
    }
    text += "Lived, Longest: median and most, until freed or the end; Freed: how many were\n";
    for (const PinningSet& set : pins.sets) {
        text += "\nTogether " + format_bytes(set.bytes) + ":\n";
        for (const uint32_t line : set.lines) {
            text += "  " + line_text(report, line) + "\n";
        }
    }
    return text;
}

std::string head_of(const StateReport& report, const ReservedCauses& causes) {
    std::string text = head_text(report.reader) + "Device " + std::to_string(report.state.device) +
                       " at " + printable(report.at) +
                       " (t=" + format_seconds(report.reader.seconds(report.state.tick)) +
                       "): " + format_bytes(causes.reserved_bytes) + " reserved in " +
                       format_count(report.state.segments.size()) + " segments, largest hole " +
                       format_bytes(causes.largest_hole_bytes) + "\n";
    if (report.state.outside_bytes != 0) {
        text += format_bytes(report.state.outside_bytes) +
                " of blocks lie in segments from before the recording\n";
    }
    if (!report.state.settings_fault.empty()) {
        text += printable(report.state.settings_fault) + "\n";
    }
    return text + "\n";
}

void put_head(JsonWriter& json, const StateReport& report, const ReservedCauses& causes) {
    put_run_facts(json, report.reader);
    put_simulated(json, report.reader);
    json.field("at", report.at).field("seconds", report.reader.seconds(report.state.tick));
    json.field("device", report.state.device).field("reserved_bytes", causes.reserved_bytes);
    json.field("outside_bytes", report.state.outside_bytes);
    json.text_or_null("settings_fault", report.state.settings_fault);
}

// What most of a cell is: the block or the free piece that covers most of it.
char cell_of(FreeCause cause) {
    constexpr char kCells[] = {' ', '.', '_', ':', '-'};
    return kCells[static_cast<size_t>(cause)];
}

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
        paint(piece.address, piece.bytes, cell_of(piece.cause));
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

}  // namespace

std::string fragmentation_text(const StateReport& report) {
    const ReservedCauses causes = find_causes(report.state);
    return head_of(report, causes) + causes_text(causes) + "\n" +
           pins_text(report, pins_of_lines(report));
}

std::string fragmentation_json(const StateReport& report) {
    const ReservedCauses causes = find_causes(report.state);
    const SegmentPins pins = pins_of_lines(report);
    JsonWriter json;
    json.begin_object().field("schema_version", 1);
    put_head(json, report, causes);
    json.key("causes").begin_object().field("live", causes.live_bytes);
    json.field("waiting", causes.waiting_bytes);
    for (const FreeCause cause : kFreeCauses) {
        json.field(cause_name(cause), causes.free(cause));
    }
    json.end_object().key("live_parts").begin_object();
    json.field("rounding", causes.rounding_bytes).field("divisions", causes.division_bytes);
    json.field("unsplit", causes.unsplit_bytes).end_object();
    json.field("largest_hole_bytes", causes.largest_hole_bytes);
    json.key("lines").begin_array();
    const uint64_t shown = shown_count(report.top, pins.lines.size());
    for (size_t i = 0; i < shown; ++i) {
        const SegmentPin& pin = pins.lines[i];
        json.begin_object().field("location", label_text(report.paths, report.lines[pin.line]));
        json.field("own_bytes", pin.own_bytes).field("count", pin.block_count);
        json.field("sole_bytes", pin.sole_bytes).field("sole_free_bytes", pin.sole_free_bytes);
        json.field("shared_bytes", pin.shared_bytes);
        json.field("oldest_seconds", report.reader.seconds(pin.oldest_tick));
        json.field("median_lived_seconds", report.reader.seconds(pin.median_ticks));
        json.field("longest_lived_seconds", report.reader.seconds(pin.longest_ticks));
        json.field("freed_count", pin.freed_count).end_object();
    }
    json.end_array().key("sets").begin_array();
    for (const PinningSet& set : pins.sets) {
        json.begin_object().field("bytes", set.bytes).key("locations").begin_array();
        for (const uint32_t line : set.lines) {
            json.value(label_text(report.paths, report.lines[line]));
        }
        json.end_array().end_object();
    }
    return json.end_array().end_object().take();
}

std::string map_text(const StateReport& report) {
    using enum Align;
    constexpr size_t kCells = 40;
    std::vector<const StateSegment*> segments;
    for (const StateSegment& segment : report.state.segments) {
        segments.push_back(&segment);
    }
    std::stable_sort(segments.begin(), segments.end(), [](const auto* one, const auto* two) {
        return one->bytes > two->bytes;
    });
    TextColumns columns({kRight, kRight, kRight, kLeft, kLeft},
                        {"Segment", "Stream", "Blocks", "Map", ""});
    const uint64_t shown = shown_count(report.top, segments.size());
    for (size_t i = 0; i < shown; ++i) {
        const StateSegment& segment = *segments[i];
        columns.add({format_bytes(segment.bytes),
                     std::to_string(segment.stream),
                     format_count(segment.blocks.size()),
                     "|" + cells_of(report, segment, kCells) + "|",
                     kind_of(segment)});
    }
    std::string text = head_of(report, find_causes(report.state)) + columns.text();
    if (shown < segments.size()) {
        text += "and " + format_count(segments.size() - shown) + " smaller segments\n";
    }
    return text +
           "# live  w freed, in use by another stream  . pinned  : rest of a unit\n"
           "_ unit and empty: returned by empty_cache()  - private pool\n";
}

std::string map_json(const StateReport& report) {
    JsonWriter json;
    json.begin_object().field("schema_version", 1);
    put_head(json, report, find_causes(report.state));
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
                       label_text(report.paths, report.lines[report.line_of(block.context)]));
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
    return json.end_array().end_object().take();
}

}  // namespace peakline::report
