#include "leaks_report.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "growth_rates.h"
#include "report/render/advice/advise_report.h"
#include "report/render/format/device_json.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

void put_holders(JsonWriter& json, const std::vector<GrowthHolder>& holders) {
    json.key("holders").begin_array();
    for (const GrowthHolder& holder : holders) {
        json.begin_object().field("kind", holder.kind).field("path", holder.path);
        json.field("block_count", holder.block_count).end_object();
    }
    json.end_array();
}

// Writes the fields that all rows of this report have.
void put_labels(JsonWriter& json, const LeaksReport& report, const std::vector<Label>& labels) {
    put_keys(json, report.paths, labels);
    put_location_of(json, report.paths, labels);
}

Column key_column(const LeaksReport& report) {
    return {"key", head_of_keys(report.selection.row_keys), Align::kLeft};
}

// Puts one row per entry of `rows`, up to the number of rows shown.
template <class Row, class Put>
void put_rows(Document& document,
              const LeaksReport& report,
              const char* key,
              const std::vector<Row>& rows,
              std::vector<Column> columns,
              Put put) {
    DocumentTable table(document, key, std::move(columns), 2);
    const uint64_t shown = shown_count(report.top, rows.size());
    for (size_t i = 0; i < shown; ++i) {
        put(table, rows[i]);
    }
    table.leave_out(rows.size() - shown, "more rows");
}

void put_growing_row(DocumentTable& table, const LeaksReport& report, const GrowthRow& row) {
    const uint64_t window = row.fit.window;
    JsonWriter& json =
        table.begin({bytes_cell(std::lround(per_unit(report, row.fit, row.fit.bytes_per_sample))),
                     bytes_cell(row.fit.gained_bytes),
                     cell(moment_of(report, row.fit.sample)),
                     cell(blocks_text(report, row.fit)),
                     line_cell(report.paths, row.labels),
                     cell(window * report.growth.moments.units_per_sample),
                     cell(row.fit.is_replaced),
                     cell(row.is_slow),
                     cell(row.is_certain),
                     cell(row.is_beside_inputs)});
    put_labels(json, report, row.labels);
    put_rate(json, report, "bytes", row.fit, row.fit.bytes_per_sample);
    put_rate(json, report, "blocks", row.fit, row.fit.blocks_per_sample);
    put_moment(json, report, "first", row.fit.sample);
    put_holders(json, row.holders);
    table.end();
    for (const GrowthHolder& holder : row.holders) {
        table.add_words({"", "", "", "", "held: " + holder.path});
    }
}

void put_growing(Document& document,
                 const LeaksReport& report,
                 const std::vector<GrowthRow>& rows) {
    const UnitWords words = words_of(report.growth.moments.unit);
    put_rows(
        document,
        report,
        "growth",
        rows,
        {{nullptr, std::string("Per ") + words.one},
         {"total_bytes", "Gained"},
         {nullptr, words.column},
         {nullptr, "Blocks", Align::kLeft},
         key_column(report),
         hidden("steps_per_rise"),
         hidden("is_replaced"),
         hidden("is_slow"),
         hidden("is_certain"),
         hidden("is_beside_inputs")},
        [&](DocumentTable& table, const GrowthRow& row) { put_growing_row(table, report, row); });
}

void put_following(Document& document, const LeaksReport& report) {
    document.say(report.growth.following.empty() ? ""
                                                 : "Grows because the inputs of the steps grow:");
    put_rows(document,
             report,
             "follows_inputs",
             report.growth.following,
             {{"total_bytes", "Gained"},
              {"sentence", "Because", Align::kLeft},
              key_column(report),
              hidden("unit"),
              hidden("from_count"),
              hidden("to_count"),
              hidden("batch_count"),
              hidden("bytes_per_unit")},
             [&](DocumentTable& table, const GrowthRow& row) {
                 const FollowedInputs& inputs = *row.inputs;
                 JsonWriter& json = table.begin({bytes_cell(row.fit.gained_bytes),
                                                 cell(inputs_sentence(inputs)),
                                                 line_cell(report.paths, row.labels),
                                                 cell(inputs.rise.unit),
                                                 cell(inputs.rise.from_count),
                                                 cell(inputs.rise.to_count),
                                                 cell(inputs.rise.batch),
                                                 cell(inputs.bytes_per_unit)});
                 put_labels(json, report, row.labels);
                 put_moment(json, report, "first", row.fit.sample);
                 json.key("inputs").begin_object();
                 json.field("key", label_text(report.paths, inputs.line));
                 put_location_of(json, report.paths, {inputs.line});
                 json.end_object();
                 table.end();
             });
}

const char* name_of(ReservedCause cause) {
    return cause == ReservedCause::kPools     ? "pools"
           : cause == ReservedCause::kStreams ? "streams"
                                              : "fragments";
}

// "stream 0x55d0", "24 streams", "3 private pools".
std::string pools_text(const LeaksReport& report, const ReservedRow& row) {
    if (!row.pools.empty()) {
        return row.pools.size() == 1 ? "1 private pool"
                                     : format_count(row.pools.size()) + " private pools";
    }
    if (row.streams.size() != 1) {
        return format_count(row.streams.size()) + " streams";
    }
    return stream_text(report.reader.definitions(), *row.streams.begin());
}

void put_reserved_rows(Document& document,
                       const LeaksReport& report,
                       const ReservedGrowth& growth) {
    put_rows(document,
             report,
             "rows",
             growth.rows,
             {{"bytes", "Gained"},
              {"segment_count", "Segments"},
              {nullptr, "In", Align::kLeft},
              {"key", "Line", Align::kLeft},
              hidden("pool_count")},
             [&](DocumentTable& table, const ReservedRow& row) {
                 JsonWriter& json = table.begin({bytes_cell(row.bytes),
                                                 count_cell(row.segment_count),
                                                 cell(pools_text(report, row)),
                                                 line_cell(report.paths, {row.line}),
                                                 cell(row.pools.size())});
                 put_location_of(json, report.paths, {row.line});
                 json.key("streams").begin_array();
                 for (const uint32_t stream : row.streams) {
                     json.value(stream_text(report.reader.definitions(), stream));
                 }
                 json.end_array();
                 table.end();
             });
}

void put_reserved(Document& document, const LeaksReport& report) {
    JsonWriter& json = document.fields().key("reserved_growth");
    if (!report.reserved) {
        json.null();
        return;
    }
    const ReservedGrowth& growth = *report.reserved;
    const bool has_steps = growth.moments.unit != GrowthUnit::kTime;
    json.begin_object().field("begin_bytes", growth.begin_bytes);
    json.field("end_bytes", growth.end_bytes).field("allocated_bytes", growth.allocated_bytes);
    json.key("bytes_per_step");
    has_steps ? json.value(growth.fit.bytes_per_sample /
                           static_cast<double>(growth.moments.units_per_sample))
              : json.null();
    json.field("cause", name_of(growth.cause)).field("is_certain", growth.is_certain);
    json.field("sentence", cause_sentence(growth));
    document.say("Reserved memory grows from " + format_bytes(growth.begin_bytes) + " to " +
                 format_bytes(growth.end_bytes) + "; allocated is never above " +
                 format_bytes(growth.allocated_bytes) + ":");
    put_reserved_rows(document, report, growth);
    std::string cause = cause_sentence(growth);
    cause[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(cause[0])));
    document.say(cause);
    document.fields().end_object();
}

void put_levelled(Document& document, const LeaksReport& report) {
    const std::vector<GrowthRow>& rows = report.growth.levelled;
    document.say(
        rows.empty() ? "" : "Levelled off (caches that are full, state made in the first steps):");
    put_rows(document,
             report,
             "levelled_off",
             rows,
             {{"level_bytes", "Level"},
              {nullptr, words_of(report.growth.moments.unit).column},
              key_column(report)},
             [&](DocumentTable& table, const GrowthRow& row) {
                 JsonWriter& json = table.begin({bytes_cell(row.fit.level_bytes),
                                                 cell(moment_of(report, row.fit.sample)),
                                                 line_cell(report.paths, row.labels)});
                 put_labels(json, report, row.labels);
                 put_moment(json, report, "last", row.fit.sample);
                 table.end();
             });
}

void put_returning(Document& document, const LeaksReport& report) {
    const std::vector<GrowthRow>& rows = report.growth.returning;
    document.say(rows.empty() ? ""
                              : "Rises and is freed at once (by the garbage collector, or a list "
                                "that is emptied):");
    put_rows(document,
             report,
             "returning",
             rows,
             {{"highest_bytes", "Up to"}, {"fall_count", "Times"}, key_column(report)},
             [&](DocumentTable& table, const GrowthRow& row) {
                 put_labels(table.begin({bytes_cell(row.fit.level_bytes),
                                         cell(row.fit.fall_count),
                                         line_cell(report.paths, row.labels)}),
                            report,
                            row.labels);
                 table.end();
             });
}

std::string steps_text(const LeftRow& row) {
    const std::string first = std::to_string(row.first_step);
    return row.first_step == row.last_step ? first : first + " to " + std::to_string(row.last_step);
}

void put_left(Document& document, const LeaksReport& report) {
    document.say(
        report.left.empty()
            ? ""
            : "Still live at the end, made in a step, no part of the model or its training:");
    put_rows(document,
             report,
             "at_end",
             report.left,
             {{"bytes", "Mem"},
              {"count", "Blocks"},
              {"first_step", "Made in steps", Align::kLeft},
              {"category", "Category", Align::kLeft},
              key_column(report),
              hidden("last_step")},
             [&](DocumentTable& table, const LeftRow& row) {
                 put_labels(table.begin({bytes_cell(row.bytes),
                                         count_cell(row.count),
                                         cell(row.first_step).shown_as(steps_text(row)),
                                         cell(row.category),
                                         line_cell(report.paths, row.labels),
                                         cell(row.last_step)}),
                            report,
                            row.labels);
                 table.end();
             });
}

std::string verdict_text(const LeaksReport& report, size_t fast_count) {
    const Growth& growth = report.growth;
    const UnitWords words = words_of(growth.moments.unit);
    const std::string count = format_count(growth.unit_count());
    const std::string seen = "Looked at " + count + " " + words.many + ": ";
    if (growth.is_too_short()) {
        return seen + "too few to say what grows; " + std::to_string(kLeastWindows) + " are needed";
    }
    return seen + (fast_count == 0   ? "nothing grows"
                   : fast_count == 1 ? "1 row grows"
                                     : std::to_string(fast_count) + " rows grow");
}

bool is_of_kept_events_only(const LeaksReport& report) {
    const Checkpoint* const checkpoint = report.reader.checkpoint();
    return checkpoint != nullptr && checkpoint->first_event != 0 &&
           report.growth.moments.earlier_count == 0;
}

size_t fast_count(const Growth& growth) {
    return static_cast<size_t>(
        std::ranges::count_if(growth.growing, [](const GrowthRow& row) { return !row.is_slow; }));
}

// Programs get one list; people see slow growth separately.
void put_growth(Document& document, const LeaksReport& report) {
    const std::vector<GrowthRow>& all = report.growth.growing;
    if (!document.is_for_people()) {
        put_growing(document, report, all);
        return;
    }
    std::vector<GrowthRow> fast;
    std::vector<GrowthRow> slow;
    for (const GrowthRow& row : all) {
        (row.is_slow ? slow : fast).push_back(row);
    }
    document.say(verdict_text(report, fast.size()));
    put_growing(document, report, fast);
    document.say(slow.empty() ? "" : "Grows, but a million steps would not double the peak:");
    put_growing(document, report, slow);
}

void put_facts(JsonWriter& json, const LeaksReport& report) {
    const Growth& growth = report.growth;
    json.field("schema_version", 1).field("file", report.reader.name());
    put_device(json, report.result.chosen.device, scope_of(report.result.is_sum));
    json.field("measure", measure_name(report.selection.request.measure));
    json.field("by", report.selection.by);
    json.field("peak_bytes", report.result.chosen.peak_bytes);
    json.field("unit", unit_name(growth.moments.unit));
    json.field("unit_count", growth.unit_count());
    json.field("is_too_short", growth.is_too_short());
    json.field("verdict", verdict_text(report, fast_count(growth)));
    json.field("growing_count", static_cast<uint64_t>(growth.growing.size()));
}

}  // namespace

void put_leaks(Document& document, const LeaksReport& report) {
    put_facts(document.fields(), report);
    document.say_lines(head_text(report.reader));
    put_growth(document, report);
    put_reserved(document, report);
    put_following(document, report);
    put_levelled(document, report);
    put_returning(document, report);
    put_left(document, report);
    document.say(report.findings.empty() ? "" : "At the peak, as `peakline advise` says it:");
    put_pieces_of_advice(document,
                         "findings",
                         report.paths,
                         report.findings,
                         document.is_for_people() ? 0 : report.top);
    const auto& growing = report.growth.growing;
    const bool grows = std::any_of(
        growing.begin(), growing.end(), [](const GrowthRow& row) { return !row.is_slow; });
    document.say(grows && report.reader.definitions().holder_searches.empty()
                     ? "What keeps these blocks alive is found by a run with --hold end, or --hold "
                       "STEP"
                     : "");
    document.say(is_of_kept_events_only(report)
                     ? "Only the kept events were looked at: what steps before them held is known "
                       "by line, function, file and stack"
                     : "");
    put_coverage_and_health(document, report.reader, report.result.health);
}

}  // namespace peakline::report
