#include <algorithm>

#include "ledger_report.h"
#include "report/render/format/json_writer.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

void put_parts(const LedgerReport& report, const std::vector<LedgerPart>& parts, JsonWriter& json) {
    json.begin_array();
    for (const LedgerPart& part : parts) {
        json.begin_object();
        json.field("name", part.name);
        json.field("kind", part_kind_name(part.kind));
        json.field("bytes", part.bytes);
        json.field("count", part.count);
        json.key("lines").begin_array();
        const size_t shown =
            report.top == 0 ? part.lines.size() : std::min<size_t>(part.lines.size(), report.top);
        for (size_t i = 0; i < shown; ++i) {
            json.begin_object();
            json.field("location", label_text(report.paths, part.lines[i].label));
            json.field("bytes", part.lines[i].bytes);
            json.field("count", part.lines[i].count);
            json.end_object();
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
}

}  // namespace

std::string ledger_json(const LedgerReport& report) {
    const Ledger& ledger = report.ledger;
    JsonWriter json;
    json.begin_object();
    json.field("at", report.at);
    put_simulated(json, report.reader);
    json.field("seconds", report.reader.seconds(ledger.tick));
    json.field("device", ledger.device);
    json.field("device_total_bytes", ledger.total_bytes);
    json.field("device_used_bytes", ledger.used_bytes);
    json.key("parts");
    put_parts(report, ledger.parts, json);
    json.field("unexplained_bytes", ledger.unexplained_bytes);
    json.field("other_processes_known", ledger.knows_others);
    json.field("grown_by_next_sample_bytes", ledger.next_growth_bytes);
    json.key("beside");
    put_parts(report, ledger.beside, json);
    json.end_object();
    return json.take();
}

}  // namespace peakline::report
