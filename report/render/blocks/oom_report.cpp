// The first lines are the answer; the rest shows the numbers behind it.
#include "oom_report.h"

#include <algorithm>

#include "report/render/blocks/holders_report.h"
#include "report/render/blocks/oom_answer.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

constexpr size_t kOtherLines = 3;

double share_of(uint64_t bytes, uint64_t total) {
    return total == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(total);
}

std::string request_text(const OomReport& report) {
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
    return text;
}

void put_device_use(Document& document, const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    DocumentTable table(
        document,
        nullptr,
        {{nullptr, "Mem"},
         {nullptr, "%"},
         {nullptr, "Device " + std::to_string(autopsy.refused.request.device), Align::kLeftWhole}});
    const auto add = [&](uint64_t bytes, const std::string& what) {
        const double share = share_of(bytes, autopsy.device_bytes);
        table.add({bytes_cell(bytes),
                   autopsy.device_bytes == 0 ? cell("") : percent_cell(share),
                   cell(what)});
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
                                                    format_bytes(segments.usable.largest_bytes)
                                              : std::string()));
    }
    if (const std::optional<uint64_t> outside = autopsy.outside_bytes()) {
        const std::optional<uint64_t> others = autopsy.other_process_bytes();
        add(*outside - others.value_or(0),
            std::string("outside torch: contexts, libraries") +
                (others ? "" : ", other processes"));
        if (others.value_or(0) != 0) {
            add(*others, "other processes");
        }
    }
    add(autopsy.refused.request.free_bytes, "free");
    if (autopsy.is_over_limit) {
        add(autopsy.refused.limit_bytes, "all that torch may use here: the limit of this process");
    }
}

void put_rows(Document& document, const OomReport& report, const char* key, const Table& rows) {
    const uint64_t shown = shown_count(report.top, rows.rows.size());
    const bool is_category = std::string_view(key) == "categories";
    DocumentTable table(
        document,
        key,
        {{"bytes", "Mem"},
         {nullptr, "%"},
         {"count", "Count"},
         {"key", is_category ? "What was live, by category" : "By line", Align::kLeft}});
    for (size_t i = 0; i < shown; ++i) {
        const TableRow& row = rows.rows[i];
        put_location_of(table.begin({bytes_cell(row.bytes),
                                     percent_cell(row.share),
                                     count_cell(row.count),
                                     line_cell(report.paths, {row.labels.front()})}),
                        report.paths,
                        row.labels);
        table.end();
    }
    table.leave_out(rows.rows.size() - shown, "more rows");
}

void put_segments(JsonWriter& json, const OomReport& report) {
    const std::optional<RefusedSegments>& segments = report.autopsy.segments;
    const auto known = [&](uint64_t RefusedSegments::*field) {
        return segments ? std::optional((*segments).*field) : std::nullopt;
    };
    json.field("reserved_bytes", known(&RefusedSegments::reserved_bytes));
    json.field("waiting_bytes", known(&RefusedSegments::waiting_bytes));
    json.field("free_in_segments_bytes", known(&RefusedSegments::free_bytes));
    const auto in_pieces = [&](uint64_t bytes) {
        return segments && segments->knows_pieces ? std::optional(bytes) : std::nullopt;
    };
    const RefusedSegments found = segments.value_or(RefusedSegments());
    json.field("usable_bytes", in_pieces(found.usable.bytes));
    json.field("largest_free_block_bytes", in_pieces(found.usable.largest_bytes));
    json.field("pinned_bytes", in_pieces(found.pinned.bytes));
    json.field("other_pools_bytes", in_pieces(found.of_other_pools.bytes));
    json.field("largest_of_other_streams_bytes", in_pieces(found.largest_of_other_streams_bytes));
    json.field("largest_of_other_pools_bytes", in_pieces(found.of_other_pools.largest_bytes));
    json.field("outside_bytes", report.autopsy.outside_bytes());
    json.field("other_process_bytes", report.autopsy.other_process_bytes());
}

void put_pins(Document& document, const OomReport& report) {
    const FreePieces* const pieces = report.autopsy.free_pieces();
    const bool is_shown = is_of_no_use(report.autopsy) || !document.is_for_people();
    const bool has_rows = pieces != nullptr && !pieces->pins.empty() && is_shown;
    document.say_lines(has_rows ? "\n" : "");
    DocumentTable table(document,
                        "pins",
                        {{"free_bytes", "Free beside"},
                         {"bytes", "Mem"},
                         {"count", "Count"},
                         {"key", "Blocks that keep free pieces apart", Align::kLeft}});
    if (has_rows) {
        for (const PinningRow& row : pieces->pins) {
            table.add({bytes_cell(row.free_bytes),
                       bytes_cell(row.bytes),
                       count_cell(row.count),
                       line_cell(report.paths, {row.label})});
        }
    }
}

// People see only the lines with most requests.
void put_others(Document& document, const OomReport& report) {
    JsonWriter& json = document.fields().key("others").begin_array();
    for (const RefusedLine& one : report.others) {
        json.begin_object().field("location", label_text(report.paths, one.line));
        json.field("count", one.count).field("last_number", one.last_number).end_object();
    }
    json.end_array();
    document.say_lines(report.others.empty() ? "" : "\n");
    const size_t shown = std::min(kOtherLines, report.others.size());
    for (size_t i = 0; i < shown; ++i) {
        const RefusedLine& one = report.others[i];
        document.say("Also refused: " + counted(one.count, "request") + " at " +
                     oom_line(report, one.line) + " (--nth " + std::to_string(one.last_number) +
                     ")");
    }
    if (shown < report.others.size()) {
        document.say("and at " + counted(report.others.size() - shown, "more line"));
    }
}

void put_holders(Document& document, const OomReport& report) {
    if (report.holders == nullptr) {
        document.fields().key("holders").begin_array().end_array();
        document.say_lines(report.reader.definitions().holder_searches.empty()
                               ? ""
                               : "\nNo search for holders saw a block that was live then (peakline "
                                 "holders).");
        return;
    }
    const RefusedHolders& found = *report.holders;
    const HoldersReport holders = {report.reader, found.list, report.top, report.paths};
    document.show_empty_line();
    document.say("What keeps the largest blocks alive");
    document.say_lines(holder_search_text(holders));
    if (found.gone_bytes != 0) {
        document.say("It did not look at " + format_bytes(found.gone_bytes) +
                     " of the largest blocks then.");
    }
    const uint64_t count = found.list.rows.size();
    put_holder_rows(document,
                    "holders",
                    holders,
                    document.is_for_people() ? shown_count(report.top, count) : count);
}

void put_request(JsonWriter& json, const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    const RefusedRequest& refused = autopsy.refused;
    json.field("number", autopsy.number).field("is_caught", autopsy.is_caught);
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
    json.field("refused_by", autopsy.is_over_limit ? "limit" : "device");
    put_shared(json, report.shared);
    json.text_or_null("served_with", report.serving.text);
    json.field("location", label_text(report.paths, autopsy.line));
    json.field("phase", autopsy.phase).field("module", autopsy.module);
    json.field("step", autopsy.step);
}

void put_head(Document& document, const TraceReader& reader, const RefusedRequests& refused) {
    JsonWriter& json = document.fields().field("schema_version", 1);
    put_run_facts(json, reader);
    put_simulated(document, reader);
    const bool has_ended = ended_the_program(reader, refused);
    json.field("refused", refused.count);
    json.field("caught", refused.count - (has_ended ? 1 : 0));
    json.key("ooms").begin_array();
}

}  // namespace

void put_oom(Document& document, const OomReport& report) {
    put_head(document, report.reader, report.refused);
    document.fields().begin_object();
    put_request(document.fields(), report);
    document.say_lines(oom_answer(report), Tone::kAnswer);
    document.show_empty_line();
    document.say_lines(head_text(report.reader));
    document.say_lines(request_text(report));
    document.show_empty_line();
    put_device_use(document, report);
    document.say_lines(shared_text(report.shared));
    const bool has_rows = !report.autopsy.lines.rows.empty();
    document.say_lines(has_rows ? "\n" : "");
    put_rows(document, report, "categories", report.autopsy.categories);
    document.say_lines(has_rows ? "\n" : "");
    put_rows(document, report, "rows", report.autopsy.lines);
    put_pins(document, report);
    put_holders(document, report);
    document.fields().end_object().end_array();
    put_others(document, report);
}

void put_no_oom(Document& document, const TraceReader& reader) {
    put_head(document, reader, {});
    document.fields().end_array().key("others").begin_array().end_array();
}

}  // namespace peakline::report
