// `holders`: what keeps blocks alive.
#include "holders_report.h"

#include <algorithm>
#include <cstdio>

#include "report/render/format/device_json.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/shown_count.h"
#include "report/render/format/text_columns.h"
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

// What a search did not come to, nothing is said of.
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

void put_holder(JsonWriter& json, const BlockHolder& holder) {
    json.begin_object().field("kind", kind_name(holder.kind)).field("path", holder.text);
    json.end_object();
}

void put_row(JsonWriter& json, const HoldersReport& report, const HolderRow& row) {
    json.begin_object().field("block_bytes", row.block.block_bytes);
    json.field("requested_bytes", row.block.requested_bytes);
    put_device(json, row.block.device).field("address", row.block.address);
    json.text_or_null("name", row.name);
    json.field("module", row.module);
    json.field("made_at", label_text(report.paths, row.made_at));
    put_holders(json, row);
    json.field("more_holders", row.more_count).end_object();
}

}  // namespace

void put_holders(JsonWriter& json, const HolderRow& row) {
    json.key("holders").begin_array();
    for (const BlockHolder* const holder : row.holders) {
        put_holder(json, *holder);
    }
    json.end_array();
}

// Paths are what the reader came for: they are never shortened.
std::string holder_rows_text(const HoldersReport& report, const std::string& indent) {
    using enum Align;
    if (report.list.rows.empty()) {
        return {};
    }
    TextColumns columns({kRight, kLeft}, {"Mem", "Held by"});
    const uint64_t shown = shown_count(report.top, report.list.rows.size());
    const char* const not_found = is_unfinished(report.list.search) ? kNotReached : kNotFound;
    for (size_t i = 0; i < shown; ++i) {
        const HolderRow& row = report.list.rows[i];
        // A parameter has its optimizer and the graph besides its model.
        const size_t told = row.name.empty() ? row.holders.size() : 1;
        const uint64_t more =
            row.more_count + row.holders.size() - std::min(told, row.holders.size());
        const std::string others = more != 0 ? ", and " + std::to_string(more) + " more" : "";
        columns.add({format_bytes(row.block.block_bytes),
                     row.holders.empty() ? not_found : row.holders[0]->text + others});
        for (size_t j = 1; j < told; ++j) {
            columns.add({"", "  also " + row.holders[j]->text});
        }
        columns.add({"", "  made at " + label_text(report.paths, row.made_at)});
    }
    return columns.text(indent);
}

std::string holder_search_text(const HoldersReport& report) {
    const HolderList& list = report.list;
    return moment_of(report) + ": " + std::to_string(list.found_count) + " of " +
           std::to_string(list.rows.size()) + " blocks found (" + format_bytes(list.found_bytes) +
           " of " + format_bytes(list.total_bytes) + "), " + searched_text(list.search) + "\n" +
           empty_text(list) + unfinished_text(list) + missing_text(list.search.flags);
}

std::string holders_text(const HoldersReport& report) {
    const auto& searches = report.reader.definitions().holder_searches;
    const HolderList& list = report.list;
    std::string text =
        head_text(report.reader) + holder_search_text(report) + holder_rows_text(report, {});
    const uint64_t shown = shown_count(report.top, list.rows.size());
    if (shown < list.rows.size()) {
        text += "... " + std::to_string(list.rows.size() - shown) + " more blocks (--top 0)\n";
    }
    if (searches.size() > 1) {
        text += "Search " + std::to_string(list.search.search) + " of " +
                std::to_string(searches.size()) + " (--search N shows another)\n";
    }
    if (list.found_count < list.rows.size() && list.search.flags == 0) {
        text +=
            "A block that is not found is held by C++ alone: a cache, a workspace, or a graph "
            "that no tensor of the program leads to.\n";
    }
    return text;
}

std::string holders_json(const HoldersReport& report) {
    const HolderList& list = report.list;
    const format::HolderSearch& search = list.search;
    const uint64_t shown = shown_count(report.top, list.rows.size());
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("file", report.reader.name());
    put_simulated(json, report.reader);
    json.field("search", search.search);
    json.field("search_count",
               static_cast<uint64_t>(report.reader.definitions().holder_searches.size()));
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
    json.field("row_count", static_cast<uint64_t>(list.rows.size())).key("blocks").begin_array();
    for (size_t i = 0; i < shown; ++i) {
        put_row(json, report, list.rows[i]);
    }
    return json.end_array().end_object().take();
}

}  // namespace peakline::report
