// The table in its two forms: text for people, JSON for programs (schema: JSON.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report/render/facts/where_report.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/path_display.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"
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

// Everything the two forms are made of.
struct TableReport {
    const TraceReader& reader;
    const Selection& selection;
    const ReplayResult& result;
    const Table& table;
    uint64_t top;  // rows shown; 0: all
    PathDisplay paths;
    uint64_t unmatched_module_count;  // whose functions have no names here
    std::vector<ValueReadRow> value_reads;
    OutOfMemoryLine out_of_memory;
    ShownPart part;
    std::optional<OutsideMemory> outside = {};
    std::optional<PinnedRounding> pinned = {};  // of all blocks of the device `pinned`
};

// A sentence beside the rows, with its line ends. A warning says that figures may be wrong, or that
// this was not the whole run.
struct Note {
    std::string text;  // empty: nothing to say
    bool is_warning = false;
};

// "Max mem", "12.62 GB"; without a value there is nothing to say.
struct Fact {
    std::string name;
    std::string value;
};

// What stands before the facts, between them and the rows, and below the rows.
std::vector<Note> head_notes(const TableReport& report);
std::vector<Fact> table_facts(const TableReport& report);
std::vector<Note> table_notes(const TableReport& report);
// The notes below the rows that are about the run, of the table and of the summary.
std::vector<Note> run_notes(const TableReport& report);
std::string text_of_notes(const std::vector<Note>& notes);

std::string table_text(const TableReport& report);
std::string table_json(const TableReport& report);

// The field "keys" of a row: the text of each of its keys.
void put_keys(JsonWriter& json, const PathDisplay& paths, const std::vector<Label>& labels);
// Fields of an open object: what is missing from the trace, and whether its device is simulated.
void put_health(JsonWriter& json, const TraceReader& reader, const TraceHealth& health);
// Fields of an open object: what `location` describes; null where unknown.
void put_location(JsonWriter& json, const Location& location);
// The field "location" of an open object: that of a row's labels, null where none is a frame.
void put_location_of(JsonWriter& json, const std::vector<Label>& labels);
// The field `out_of_memory` of an open object: null when every request was served.
void put_out_of_memory(JsonWriter& json, const TableReport& report);
// The line about it; empty when every request was served.
std::string out_of_memory_text(const TableReport& report);
// The field "via" of a row: its bytes by what asked for them.
void put_via(JsonWriter& json, const std::vector<ViaPart>& via);
// Lines after a text report that say what is missing; empty when nothing is.
std::string health_text(const TraceHealth& health);
// The line about native functions without names; empty when all have one.
std::string unmatched_text(uint64_t unmatched_module_count);
// How to record the lines that give blocks up; empty when this trace has them.
std::string frees_text(const TraceReader& reader);
// "Simulated device: NVIDIA H200 ..." with its line end; empty for a real device.
std::string simulated_text(const TraceReader& reader);
// Lines about a run that was ended early: it waited for a value, or had made its --steps.
std::string stopped_text(const TraceReader& reader);
// Replay's choice in words: "0", or "all".
std::string device_text(const ReplayResult& result);
// The moment in words, as --at takes it.
std::string moment_text(const Moment& moment);
// The fields "at" and "during".
void put_moment(JsonWriter& json, const Selection& selection);

}  // namespace peakline::report
