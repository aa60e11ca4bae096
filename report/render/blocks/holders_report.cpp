#include "holders_report.h"

#include <algorithm>
#include <cstdio>

#include "report/render/format/device_json.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"

namespace peakline::report {
namespace {

constexpr const char* kNotFound = "not found";
constexpr const char* kNotReached = "not reached in the time of the search";

std::string seconds_text(double seconds) {
    char text[32];
    snprintf(text, sizeof text, "%.2f s", seconds);
    return text;
}

std::string moment_of(const HoldersReport& report) {
    const format::HolderSearch& search = report.list.search;
    std::string text = "At " + seconds_text(report.reader.seconds(search.tick));
    switch (search.reason) {
        case format::HoldReason::kStep:
            return text + ", after optimizer step " + std::to_string(search.step);
        case format::HoldReason::kSignal:
            return text + ", on a signal";
        case format::HoldReason::kOutOfMemory:
            return text + ", when memory ran out";
        case format::HoldReason::kEnd:
            return text + ", at the end";
        case format::HoldReason::kMain:
            return text + ", as the function that the script called returned";
        case format::HoldReason::kBatch:
            return text + ", after batch " + std::to_string(search.step);
        case format::HoldReason::kMark:
            return text + ", after marked step " + std::to_string(search.step);
        case format::HoldReason::kAsked:
            break;
    }
    return text;
}

bool is_after_a_step(format::HoldReason reason) {
    return reason == format::HoldReason::kStep || reason == format::HoldReason::kBatch ||
           reason == format::HoldReason::kMark;
}

bool is_unfinished(const format::HolderSearch& search) {
    return (search.flags & format::kTimeIsUp) != 0;
}

std::string searched_text(const format::HolderSearch& search) {
    const std::string of_all =
        is_unfinished(search) && search.known_object_count != 0
            ? " of about " + format_count(std::max(search.known_object_count, search.object_count))
            : "";
    return format_count(search.object_count) + of_all + " objects searched in " +
           seconds_text(static_cast<double>(search.duration_us) * 1e-6);
}

// A search that ended early gives no result for the blocks that it did not reach.
std::string unfinished_text(const HolderList& list) {
    if (!is_unfinished(list.search)) {
        return {};
    }
    const uint64_t left = list.rows.size() - list.found_count;
    return "The time was up" +
           (left == 0 ? std::string()
                      : "; of the other " + std::to_string(left) + " nothing is known") +
           ". Give the search more of it: --hold STEP,60s\n";
}

std::string empty_text(const HolderList& list) {
    if (!list.rows.empty()) {
        return {};
    }
    return list.search.reason == format::HoldReason::kEnd
               ? "Nothing was live any more: what functions held went when they returned. --hold "
                 "STEP looks while they run, and so does peakline.holders() in them.\n"
               : "Nothing was live.\n";
}

std::string missing_text(uint32_t flags) {
    std::string text;
    if ((flags & format::kTensorsUnknown) != 0) {
        text +=
            "No tensor could be read: the part for this torch was missing; peakline doctor "
            "--build builds it.\n";
    }
    if ((flags & format::kFramesUnknown) != 0) {
        text += "Local variables were not seen: Python stacks cannot be read here.\n";
    }
    return text;
}

// Writes fields of the open row.
void put_block(JsonWriter& json, const HolderRow& row) {
    json.field("requested_bytes", row.block.requested_bytes);
    put_device(json, row.block.device).field("address", row.block.address);
    json.text_or_null("name", row.name).field("module", row.module);
    json.field("more_holders", row.more_count);
}

void put_holders(JsonWriter& json, const HolderRow& row) {
    json.key("holders").begin_array();
    for (const BlockHolder* const holder : row.holders) {
        json.begin_object().field("kind", kind_name(holder->kind)).field("path", holder->text);
        json.end_object();
    }
    json.end_array();
}

// Never shortens paths: the reader came for them.
void put_row(DocumentTable& table, const HoldersReport& report, const HolderRow& row) {
    // A named tensor, such as a parameter, also has its optimizer and the graph: one path is
    // enough.
    const size_t named = row.name.empty() ? row.holders.size() : 1;
    const uint64_t more = row.more_count + row.holders.size() - std::min(named, row.holders.size());
    const std::string others = more != 0 ? ", and " + std::to_string(more) + " more" : "";
    const char* const not_found = is_unfinished(report.list.search) ? kNotReached : kNotFound;
    const std::string made_at = label_text(report.paths, row.made_at);
    JsonWriter& json =
        table.begin({bytes_cell(row.block.block_bytes),
                     cell(row.holders.empty() ? not_found : row.holders[0]->text + others),
                     cell(made_at)});
    put_holders(json, row);
    put_block(json, row);
    table.end();
    for (size_t i = 1; i < named; ++i) {
        table.add_words({"", "  also " + row.holders[i]->text});
    }
    table.add_words({"", "  made at " + made_at});
}

}  // namespace

void put_holder_rows(Document& document,
                     const char* key,
                     const HoldersReport& report,
                     uint64_t shown) {
    const auto& rows = report.list.rows;
    DocumentTable table(
        document,
        key,
        {{"block_bytes", "Mem"}, {nullptr, "Held by", Align::kLeftWhole}, hidden("made_at")});
    for (size_t i = 0; i < shown; ++i) {
        put_row(table, report, rows[i]);
    }
    table.leave_out(rows.size() - shown, "more blocks");
}

std::string holder_search_text(const HoldersReport& report) {
    const HolderList& list = report.list;
    return moment_of(report) + ": " + std::to_string(list.found_count) + " of " +
           std::to_string(list.rows.size()) + " blocks found (" + format_bytes(list.found_bytes) +
           " of " + format_bytes(list.total_bytes) + "), " + searched_text(list.search) + "\n" +
           empty_text(list) + unfinished_text(list) + missing_text(list.search.flags);
}

void put_holders(Document& document, const HoldersReport& report) {
    const auto& searches = report.reader.definitions().holder_searches;
    const HolderList& list = report.list;
    const format::HolderSearch& search = list.search;
    JsonWriter& json = document.fields().field("schema_version", 1);
    json.field("file", report.reader.name());
    put_simulated(document, report.reader);
    json.field("search", search.search);
    json.field("search_count", static_cast<uint64_t>(searches.size()));
    json.field("reason", reason_name(search.reason)).key("step");
    is_after_a_step(search.reason) ? json.value(search.step) : json.null();
    json.field("seconds", report.reader.seconds(search.tick));
    json.field("duration_seconds", static_cast<double>(search.duration_us) * 1e-6);
    json.field("object_count", search.object_count);
    json.field("known_object_count", std::max(search.known_object_count, search.object_count));
    json.field("is_complete", (search.flags & format::kTimeIsUp) == 0);
    json.field("knows_tensors", (search.flags & format::kTensorsUnknown) == 0);
    json.field("knows_locals", (search.flags & format::kFramesUnknown) == 0);
    json.field("found_count", list.found_count).field("found_bytes", list.found_bytes);
    json.field("total_bytes", list.total_bytes);
    json.field("row_count", static_cast<uint64_t>(list.rows.size()));
    document.say_lines(head_text(report.reader));
    document.say_lines(holder_search_text(report));
    put_holder_rows(document, "blocks", report, shown_count(report.top, list.rows.size()));
    if (searches.size() > 1) {
        document.say("Search " + std::to_string(search.search) + " of " +
                     std::to_string(searches.size()) + " (--search N shows another)");
    }
    if (list.found_count < list.rows.size() && search.flags == 0) {
        document.say(
            "A block that is not found is held by C++ alone: a cache, a workspace, or a graph "
            "that no tensor of the program leads to.");
    }
}

}  // namespace peakline::report
