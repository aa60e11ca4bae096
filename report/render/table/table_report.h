// The table. JSON schema: JSON.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report/render/document/document.h"
#include "report/render/facts/where_report.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/path_display.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"
#include "report/views/blocks/compiling.h"
#include "report/views/blocks/pinned_rounding.h"
#include "report/views/blocks/table.h"
#include "report/views/blocks/value_reads.h"
#include "report/views/ledger/outside_memory.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

// The last request that a device could not serve, with its line.
struct OutOfMemoryLine {
    OutOfMemory facts;
    Label line;
};

struct TableReport {
    const TraceReader& reader;
    const Selection& selection;
    const ReplayResult& result;
    const Table& table;
    uint64_t top;  // rows shown; 0: all
    PathDisplay paths;
    uint64_t unmatched_module_count;  // libraries without function names here
    std::vector<ValueReadRow> value_reads;
    OutOfMemoryLine out_of_memory;
    ShownPart part;
    std::optional<OutsideMemory> outside = {};
    std::vector<LedgerPart> shared = {};        // with other processes, the large ones
    std::optional<PinnedRounding> pinned = {};  // of all blocks of the device `pinned`
    std::optional<CompilingAtPeak> compiling = {};
};

void put_table(Document& document, const TableReport& report);
// The rows of the table, in these columns.
void put_rows(Document& document, const TableReport& report, std::vector<Column> columns);
// In this order in a report: lines before the facts, the facts, lines about the run and about the
// table.
void put_head(Document& document, const TableReport& report);
std::vector<Fact> table_facts(const TableReport& report);
void put_run_notes(Document& document, const TableReport& report);
void put_table_notes(Document& document, const TableReport& report);
// The head of the column of keys: "Line", "Raw op", "Module, lifetime".
std::string head_of_keys(const std::vector<std::string>& keys);

// Memory shared with other processes: the field "shared", and a line for each part.
void put_shared(JsonWriter& json, const std::vector<LedgerPart>& shared);
std::string shared_text(const std::vector<LedgerPart>& shared);

// The field "keys" of a row: the text of each key.
void put_keys(JsonWriter& json, const PathDisplay& paths, const std::vector<Label>& labels);
// Fields of an open object: missing parts of the trace, and whether its device is simulated.
void put_health(JsonWriter& json, const TraceReader& reader, const TraceHealth& health);
// The same; people get sentences about it.
void put_health(Document& document, const TraceReader& reader, const TraceHealth& health);
// The end of a report: the part of the run that its trace covers, and its health.
void put_coverage_and_health(Document& document,
                             const TraceReader& reader,
                             const TraceHealth& health);
// Fields of an open object that describe `location`; null where unknown.
void put_location(JsonWriter& json, const PathDisplay& paths, const Location& location);
// The field "location" of an open object, from a row's labels; null when none is a frame.
void put_location_of(JsonWriter& json, const PathDisplay& paths, const std::vector<Label>& labels);
// The field `out_of_memory` of an open object: null when every request was served.
void put_out_of_memory(JsonWriter& json, const TableReport& report);
// The line about the refused request; empty when every request was served.
std::string out_of_memory_text(const TableReport& report);
// The field "via" of a row: its bytes by the operators or lines that requested them.
void put_parts(JsonWriter& json, const char* name, const std::vector<ViaPart>& parts);
// Lines about missing parts, after a text report; empty when nothing is missing.
std::string health_text(const TraceHealth& health);
// The line about native functions without names; empty when all have one.
std::string unmatched_text(uint64_t unmatched_module_count);
// The line on how to record the freeing lines; empty when this trace has them.
std::string frees_text(const TraceReader& reader);
// "Simulated device: NVIDIA H200 ..." with its line end; empty for a real device.
std::string simulated_text(const TraceReader& reader);
// Lines about a run that was ended early (it waited for a value, or reached its --steps), or
// recorded only some steps.
std::string stopped_text(const TraceReader& reader);
// The device of the replay in words: "0", "pinned" or "all".
std::string device_text(const ReplayResult& result);
// The moment in words, as --at takes it.
std::string moment_text(const Moment& moment);
// The fields "at" and "during".
void put_moment(JsonWriter& json, const Selection& selection);

}  // namespace peakline::report
