// `oom`: the first line is the answer, the rest is what it is made of.
#include "oom_report.h"

#include <algorithm>

#include "report/render/blocks/holders_report.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "report/render/format/text_columns.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

constexpr size_t kOtherLines = 3;
constexpr const char* kUnknownCategory = "unknown";  // of --by category

double share_of(uint64_t bytes, uint64_t total) {
    return total == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(total);
}

std::string count_text(uint64_t count, const char* what) {
    return format_count(count) + " " + what + (count == 1 ? "" : "s");
}

std::string line_text(const OomReport& report, const Label& line) {
    return printable(label_text(report.paths, line));
}

std::string answer_text(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    std::string text = "Out of memory: " + format_bytes(autopsy.refused.asked_bytes) +
                       " asked for at " + line_text(report, autopsy.line) + ", " +
                       format_bytes(autopsy.refused.request.free_bytes) + " free";
    if (autopsy.device_bytes != 0) {
        text += " of " + format_bytes(autopsy.device_bytes);
    }
    return text + "\n";
}

// The smallest row that is at least as large as what was missing.
const TableRow* smallest_that_fits(const Autopsy& autopsy) {
    const TableRow* found = nullptr;
    for (const TableRow& row : autopsy.lines.rows) {
        const bool is_enough = row.bytes >= static_cast<int64_t>(autopsy.missing_bytes);
        if (is_enough && (found == nullptr || row.bytes < found->bytes)) {
            found = &row;
        }
    }
    return found;
}

// nullptr: most of what was live is of no known category.
const TableRow* largest_known_category(const Autopsy& autopsy) {
    const std::vector<TableRow>& rows = autopsy.categories.rows;
    return rows.empty() || rows.front().labels.front().name == kUnknownCategory ? nullptr
                                                                                : rows.data();
}

std::string segments_sentence(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    const RefusedSegments& segments = *autopsy.segments;
    switch (autopsy.reason) {
        case RefusalReason::kFragmented:
            return "Torch has " + format_bytes(segments.usable_bytes) +
                   " free in its segments, in " + count_text(segments.usable_count, "piece") +
                   " of at most " + format_bytes(segments.largest_usable_bytes) +
                   ": PYTORCH_ALLOC_CONF=expandable_segments:True may join them.\n";
        case RefusalReason::kOtherStream:
            return "A free piece of " + format_bytes(segments.largest_of_other_streams_bytes) +
                   " belongs to another stream: torch gives it to that stream only.\n";
        case RefusalReason::kOtherPool:
            return "A free piece of " + format_bytes(segments.largest_of_other_pools_bytes) +
                   " belongs to another pool (a CUDA graph's, or a MemPool): torch gives it to "
                   "requests of that pool only.\n";
        case RefusalReason::kWaiting:
            return format_bytes(segments.waiting_bytes) +
                   " were freed, but other streams still use them (record_stream).\n";
        case RefusalReason::kFraction:
            return "Torch may use " + format_bytes(autopsy.refused.limit_bytes) +
                   " only (torch.cuda.set_per_process_memory_fraction).\n";
        case RefusalReason::kPieces:
            return "Torch has " + format_bytes(segments.free_bytes + segments.waiting_bytes) +
                   " free in its segments, or waiting for other streams; where they lie is known "
                   "of requests in the kept events only.\n";
        case RefusalReason::kFull:
            break;
    }
    return {};
}

std::string why_text(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    if (!autopsy.could_ever_fit()) {
        return "It does not fit on this device, even with nothing else live in torch.\n";
    }
    std::string text;
    if (const TableRow* const largest = largest_known_category(autopsy)) {
        text = format_share(largest->share) + " of what is live is " +
               line_text(report, largest->labels.front()) + ".";
    }
    if (autopsy.missing_bytes != 0) {
        text +=
            (text.empty() ? "" : " ") + format_bytes(autopsy.missing_bytes) + " more were needed";
        const TableRow* const row = smallest_that_fits(autopsy);
        text += row == nullptr ? std::string(": no line alone holds as much.")
                               : "; " + line_text(report, row->labels.front()) + " alone holds " +
                                     format_bytes(row->bytes) + ".";
    }
    text += text.empty() ? "" : "\n";
    return autopsy.segments.has_value() ? text + segments_sentence(report) : text;
}

std::string place_text(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    const RefusedRequest& refused = autopsy.refused;
    std::string text = "Request " + std::to_string(autopsy.number) + " of " +
                       format_count(report.refused.count) + " that were refused, " +
                       (autopsy.is_caught ? "caught by the program" : "which ended the program") +
                       "; t=" + format_seconds(report.reader.seconds(refused.request.tick));
    text += autopsy.step ? ", step " + std::to_string(*autopsy.step) : "";
    const bool has_phase = !autopsy.phase.empty() && autopsy.phase != phase_name(Phase::kNone) &&
                           autopsy.phase != phase_name(Phase::kOther);
    text += has_phase ? ", " + printable(autopsy.phase) : "";
    text += autopsy.module.empty() ? "" : ", " + printable(autopsy.module);
    const std::string settings(report.reader.definitions().meta_text("allocator_settings"));
    text += settings.empty() ? "" : "\nAllocator settings: " + printable(settings);
    return text + "\n";
}

std::string device_text(const OomReport& report) {
    using enum Align;
    const Autopsy& autopsy = report.autopsy;
    TextColumns columns({kRight, kRight, kLeft},
                        {"Mem", "%", "Device " + std::to_string(autopsy.refused.request.device)});
    const auto add = [&](uint64_t bytes, const std::string& what) {
        const double share = share_of(bytes, autopsy.device_bytes);
        columns.add({format_bytes(bytes),
                     autopsy.device_bytes == 0 ? std::string() : format_percent(share),
                     what});
    };
    add(autopsy.refused.live_bytes, "live in torch");
    if (autopsy.segments.has_value()) {
        const RefusedSegments& segments = *autopsy.segments;
        if (segments.waiting_bytes != 0) {
            add(segments.waiting_bytes, "freed, in use by another stream");
        }
        add(segments.free_bytes,
            "free in torch's segments" + (segments.knows_pieces
                                              ? "; largest piece for this request " +
                                                    format_bytes(segments.largest_usable_bytes)
                                              : std::string()));
    }
    if (const std::optional<uint64_t> outside = autopsy.outside_bytes()) {
        add(*outside, "outside torch: contexts, libraries, other processes");
    }
    add(autopsy.refused.request.free_bytes, "free");
    return columns.text();
}

std::string rows_text(const OomReport& report, const Table& table, const char* head) {
    using enum Align;
    TextColumns columns({kRight, kRight, kRight, kLeft}, {"Mem", "%", "Count", head});
    const uint64_t shown = shown_count(report.top, table.rows.size());
    for (size_t i = 0; i < shown; ++i) {
        const TableRow& row = table.rows[i];
        columns.add({format_bytes(row.bytes),
                     format_percent(row.share),
                     format_count(row.count),
                     line_text(report, row.labels.front())});
    }
    std::string text = columns.text({}, report.paths.width);
    if (shown < table.rows.size()) {
        text += "and " + count_text(table.rows.size() - shown, "more row") + "\n";
    }
    return text;
}

std::string pins_text(const OomReport& report) {
    using enum Align;
    const Autopsy& autopsy = report.autopsy;
    if (!autopsy.segments.has_value() || autopsy.segments->pins.empty() ||
        autopsy.reason != RefusalReason::kFragmented) {
        return {};
    }
    TextColumns columns({kRight, kRight, kRight, kLeft},
                        {"Free beside", "Mem", "Count", "Blocks that keep free pieces apart"});
    for (const PinningRow& row : autopsy.segments->pins) {
        columns.add({format_bytes(row.free_bytes),
                     format_bytes(row.bytes),
                     format_count(row.count),
                     line_text(report, row.label)});
    }
    return "\n" + columns.text({}, report.paths.width);
}

std::string others_text(const OomReport& report) {
    std::string text;
    const size_t shown = std::min(kOtherLines, report.others.size());
    for (size_t i = 0; i < shown; ++i) {
        const RefusedLine& one = report.others[i];
        text += "Also refused: " + count_text(one.count, "request") + " at " +
                line_text(report, one.line) + " (--nth " + std::to_string(one.last_number) + ")\n";
    }
    if (shown < report.others.size()) {
        text += "and at " + count_text(report.others.size() - shown, "more line") + "\n";
    }
    return text.empty() ? text : "\n" + text;
}

std::string holders_part(const OomReport& report) {
    if (report.holders == nullptr) {
        return {};
    }
    const HoldersReport holders = {report.reader, *report.holders, report.top, report.paths};
    return "\nWhat keeps the largest blocks alive\n" + holder_rows_text(holders, {});
}

void put_holder_rows(JsonWriter& json, const OomReport& report) {
    json.key("holders").begin_array();
    if (report.holders != nullptr) {
        for (const HolderRow& row : report.holders->rows) {
            json.begin_object().field("block_bytes", row.block.block_bytes);
            json.field("made_at", label_text(report.paths, row.made_at));
            put_holders(json, row);
            json.end_object();
        }
    }
    json.end_array();
}

void put_rows(JsonWriter& json, const OomReport& report, const char* key, const Table& table) {
    json.key(key).begin_array();
    const uint64_t shown = shown_count(report.top, table.rows.size());
    for (size_t i = 0; i < shown; ++i) {
        const TableRow& row = table.rows[i];
        json.begin_object().field("key", label_text(report.paths, row.labels.front()));
        json.field("bytes", row.bytes).field("count", row.count);
        put_location_of(json, row.labels);
        json.end_object();
    }
    json.end_array();
}

void put_segments(JsonWriter& json, const OomReport& report) {
    const std::optional<RefusedSegments>& segments = report.autopsy.segments;
    const auto known = [&](uint64_t RefusedSegments::*field) {
        return segments ? std::optional((*segments).*field) : std::nullopt;
    };
    json.field("reserved_bytes", known(&RefusedSegments::reserved_bytes));
    json.field("waiting_bytes", known(&RefusedSegments::waiting_bytes));
    json.field("free_in_segments_bytes", known(&RefusedSegments::free_bytes));
    const auto in_pieces = [&](uint64_t RefusedSegments::*field) {
        return segments && segments->knows_pieces ? known(field) : std::nullopt;
    };
    json.field("usable_bytes", in_pieces(&RefusedSegments::usable_bytes));
    json.field("largest_free_block_bytes", in_pieces(&RefusedSegments::largest_usable_bytes));
    json.field("largest_of_other_streams_bytes",
               in_pieces(&RefusedSegments::largest_of_other_streams_bytes));
    json.field("largest_of_other_pools_bytes",
               in_pieces(&RefusedSegments::largest_of_other_pools_bytes));
    json.field("outside_bytes", report.autopsy.outside_bytes());
    json.key("pins").begin_array();
    for (const PinningRow& row : segments ? segments->pins : std::vector<PinningRow>()) {
        json.begin_object().field("key", label_text(report.paths, row.label));
        json.field("bytes", row.bytes).field("count", row.count);
        json.field("free_bytes", row.free_bytes).end_object();
    }
    json.end_array();
}

void put_autopsy(JsonWriter& json, const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    const RefusedRequest& refused = autopsy.refused;
    json.begin_object().field("number", autopsy.number).field("is_caught", autopsy.is_caught);
    json.field("seconds", report.reader.seconds(refused.request.tick));
    json.field("device", refused.request.device).field("stream", refused.stream);
    json.field("requested_bytes", refused.asked_bytes);
    json.field("device_request_bytes", refused.request.requested_bytes);
    json.field("free_bytes", refused.request.free_bytes);
    const auto known = [](uint64_t bytes) {
        return bytes != 0 ? std::optional(bytes) : std::nullopt;
    };
    json.field("total_bytes", known(autopsy.device_bytes));
    json.field("limit_bytes", known(refused.limit_bytes));
    json.field("live_bytes", refused.live_bytes).field("missing_bytes", autopsy.missing_bytes);
    put_segments(json, report);
    json.field("reason", reason_name(autopsy.reason));
    json.field("location", label_text(report.paths, autopsy.line));
    json.field("phase", autopsy.phase).field("module", autopsy.module);
    json.field("step", autopsy.step);
    put_rows(json, report, "rows", autopsy.lines);
    put_rows(json, report, "categories", autopsy.categories);
    put_holder_rows(json, report);
    json.end_object();
}

}  // namespace

std::string oom_text(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    std::string text = answer_text(report) + why_text(report) + "\n" + head_text(report.reader) +
                       place_text(report) + "\n" + device_text(report);
    if (!autopsy.lines.rows.empty()) {
        text += "\n" + rows_text(report, autopsy.categories, "What was live, by category");
        text += "\n" + rows_text(report, autopsy.lines, "By line");
    }
    return text + pins_text(report) + holders_part(report) + others_text(report);
}

std::string oom_json(const OomReport& report) {
    JsonWriter json;
    json.begin_object().field("schema_version", 1);
    put_run_facts(json, report.reader);
    put_simulated(json, report.reader);
    const bool has_ended = ended_the_program(report.reader, report.refused);
    json.field("refused", report.refused.count);
    json.field("caught", report.refused.count - (has_ended ? 1 : 0));
    json.key("ooms").begin_array();
    put_autopsy(json, report);
    json.end_array().key("others").begin_array();
    for (const RefusedLine& one : report.others) {
        json.begin_object().field("location", label_text(report.paths, one.line));
        json.field("count", one.count).field("last_number", one.last_number).end_object();
    }
    return json.end_array().end_object().take();
}

}  // namespace peakline::report
