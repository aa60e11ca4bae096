#include "ledger_report.h"

#include <algorithm>

#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

std::string requests_text(uint64_t count) {
    return count == 0 ? std::string()
                      : format_count(count) + (count == 1 ? " request" : " requests");
}

std::string name_for_people(const LedgerPart& part) {
    switch (part.kind) {
        case PartKind::kPinned:
            return "pinned by " + part.name;
        case PartKind::kRegistered:
            return "registered by " + part.name;
        case PartKind::kManaged:
            return "managed, of " + part.name;
        default:
            return part.name;
    }
}

void put_lines(DocumentTable& table,
               JsonWriter& json,
               const LedgerReport& report,
               const LedgerPart& part) {
    json.key("lines").begin_array();
    const size_t shown =
        report.top == 0 ? part.lines.size() : std::min<size_t>(part.lines.size(), report.top);
    for (size_t i = 0; i < shown; ++i) {
        const LedgerLine& line = part.lines[i];
        json.begin_object().field("location", label_text(report.paths, line.label));
        json.field("bytes", line.bytes).field("count", line.count).end_object();
    }
    json.end_array();
    table.end();
    for (size_t i = 0; i < shown; ++i) {
        const LedgerLine& line = part.lines[i];
        table.add_words(
            {"",
             "  " + format_bytes(line.bytes) + "  " + label_text(report.paths, line.label),
             ""});
    }
    if (shown < part.lines.size()) {
        table.add_words(
            {"", "  and " + format_count(part.lines.size() - shown) + " more lines", ""});
    }
}

// The last column has no head: it shows "3 requests".
std::vector<Column> part_columns() {
    return {{"bytes", "Held"},
            {"name", "By", Align::kLeft},
            {"count", "", Align::kLeft},
            hidden("kind")};
}

void put_parts(DocumentTable& table,
               const LedgerReport& report,
               const std::vector<LedgerPart>& parts) {
    for (const LedgerPart& part : parts) {
        JsonWriter& json = table.begin({bytes_cell(part.bytes),
                                        cell(part.name).shown_as(name_for_people(part)),
                                        cell(part.count).shown_as(requests_text(part.count)),
                                        cell(part_kind_name(part.kind))});
        put_lines(table, json, report, part);
    }
}

void put_beside(Document& document, const LedgerReport& report) {
    if (!report.ledger.beside.empty()) {
        document.show_empty_line();
        document.say("Beside it, memory of the host:");
    }
    DocumentTable table(document, "beside", part_columns());
    put_parts(table, report, report.ledger.beside);
}

void put_shared(Document& document, const LedgerReport& report) {
    if (!report.shared.empty()) {
        document.show_empty_line();
        document.say("Shared with other processes (opened memory counts in its own process):");
    }
    DocumentTable table(document, "shared", part_columns());
    put_parts(table, report, report.shared);
}

}  // namespace

void put_ledger(Document& document, const LedgerReport& report) {
    const Ledger& ledger = report.ledger;
    const double seconds = report.reader.seconds(ledger.tick);
    JsonWriter& json = document.fields().field("at", report.at);
    put_simulated(document, report.reader);
    json.field("seconds", seconds).field("device", ledger.device);
    json.field("device_total_bytes", ledger.total_bytes);
    json.field("device_used_bytes", ledger.used_bytes);
    json.field("unexplained_bytes", ledger.unexplained_bytes);
    json.field("other_processes_known", ledger.knows_others);
    json.field("grown_by_next_sample_bytes", ledger.next_growth_bytes);
    document.say_lines(head_text(report.reader));
    document.say("Device " + std::to_string(ledger.device) + " at " + report.at +
                 " (t=" + format_seconds(seconds) + "): " + format_bytes(ledger.used_bytes) +
                 " in use of " + format_bytes(ledger.total_bytes));
    {
        DocumentTable table(document, "parts", part_columns());
        put_parts(table, report, ledger.parts);
        table.add_words({format_bytes(ledger.unexplained_bytes), "unexplained", ""});
        if (!ledger.knows_others) {
            table.add_words({"unknown", "other processes: in the context or unexplained", ""});
        }
    }
    if (ledger.next_growth_bytes > 0) {
        document.say("By the next sample " + format_bytes(ledger.next_growth_bytes) +
                     " more were in use, requested by no known caller: since when is not known.");
    }
    put_beside(document, report);
    put_shared(document, report);
}

}  // namespace peakline::report
