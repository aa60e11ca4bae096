#include <algorithm>

#include "ledger_report.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/printable.h"
#include "report/render/format/text_columns.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

std::string count_text(uint64_t count) {
    return count == 0 ? std::string()
                      : format_count(count) + (count == 1 ? " request" : " requests");
}

void add_part(const LedgerReport& report, const LedgerPart& part, TextColumns* columns) {
    std::vector<std::string> cells = {format_bytes(part.bytes), part.name, count_text(part.count)};
    columns->add(std::move(cells));
    const size_t shown =
        report.top == 0 ? part.lines.size() : std::min<size_t>(part.lines.size(), report.top);
    for (size_t i = 0; i < shown; ++i) {
        const LedgerLine& line = part.lines[i];
        columns->add({"",
                      "  " + format_bytes(line.bytes) + "  " +
                          printable(label_text(report.paths, line.label)),
                      ""});
    }
    if (shown < part.lines.size()) {
        columns->add({"", "  and " + format_count(part.lines.size() - shown) + " more lines", ""});
    }
}

const char* beside_name(PartKind kind) {
    switch (kind) {
        case PartKind::kPinned:
            return "pinned by ";
        case PartKind::kRegistered:
            return "registered by ";
        default:
            return "managed, of ";
    }
}

}  // namespace

std::string ledger_text(const LedgerReport& report) {
    const Ledger& ledger = report.ledger;
    std::string text = head_text(report.reader);
    text += "Device " + std::to_string(ledger.device) + " at " + printable(report.at) +
            " (t=" + format_seconds(report.reader.seconds(ledger.tick)) +
            "): " + format_bytes(ledger.used_bytes) + " in use of " +
            format_bytes(ledger.total_bytes) + "\n";
    TextColumns columns({Align::kRight, Align::kLeft, Align::kLeft}, {"Held", "By", ""});
    for (const LedgerPart& part : ledger.parts) {
        add_part(report, part, &columns);
    }
    columns.add({format_bytes(ledger.unexplained_bytes), "unexplained", ""});
    if (!ledger.knows_others) {
        columns.add({"unknown", "other processes: in the context or unexplained", ""});
    }
    text += columns.text({}, report.paths.width);
    if (ledger.next_growth_bytes > 0) {
        text += "By the next sample " + format_bytes(ledger.next_growth_bytes) +
                " more were in use, which nobody asked for: since when is not known.\n";
    }
    if (!ledger.beside.empty()) {
        text += "\nBeside it, memory of the host:\n";
        TextColumns host({Align::kRight, Align::kLeft, Align::kLeft}, {"Held", "By", ""});
        for (LedgerPart part : ledger.beside) {
            part.name = beside_name(part.kind) + part.name;
            add_part(report, part, &host);
        }
        text += host.text({}, report.paths.width);
    }
    return text;
}

}  // namespace peakline::report
