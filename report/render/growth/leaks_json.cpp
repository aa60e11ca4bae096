// `leaks` for programs.
#include "leaks_report.h"
#include "report/render/advice/advise_report.h"
#include "report/render/facts/coverage.h"
#include "report/render/format/device_json.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

const char* unit_name(GrowthUnit unit) {
    switch (unit) {
        case GrowthUnit::kStep:
            return "step";
        case GrowthUnit::kGeneration:
            return "generate";
        case GrowthUnit::kPass:
            return "pass";
        case GrowthUnit::kTime:
            break;
    }
    return "time";
}

// Opens the object of a row.
void begin_row(JsonWriter& json, const LeaksReport& report, const std::vector<Label>& labels) {
    json.begin_object().field("key", label_text(report.paths, labels));
    put_keys(json, report.paths, labels);
    put_location_of(json, labels);
}

// A step by its number, or seconds where there are no steps; the other one is null.
void put_moment(JsonWriter& json,
                const LeaksReport& report,
                const std::string& name,
                size_t sample) {
    const GrowthMoments& moments = report.growth.moments;
    const bool has_steps = moments.unit != GrowthUnit::kTime;
    json.key(name + "_step");
    has_steps ? json.value(moments.first_units[sample]) : json.null();
    json.key(name + "_seconds");
    has_steps ? json.null() : json.value(report.reader.seconds(report.growth.ticks[sample]));
}

// The same of a rate.
void put_rate(JsonWriter& json,
              const LeaksReport& report,
              const std::string& name,
              const GrowthFit& fit,
              double per_sample) {
    const GrowthMoments& moments = report.growth.moments;
    const bool has_steps = moments.unit != GrowthUnit::kTime;
    json.key(name + "_per_step");
    has_steps ? json.value(per_sample / static_cast<double>(moments.units_per_sample))
              : json.null();
    json.key(name + "_per_second");
    has_steps ? json.null()
              : json.value(per_sample /
                           (report.reader.seconds(1) * report.growth.ticks_per_sample(fit.sample)));
}

void put_holders(JsonWriter& json, const std::vector<GrowthHolder>& holders) {
    json.key("holders").begin_array();
    for (const GrowthHolder& holder : holders) {
        json.begin_object().field("kind", holder.kind).field("path", holder.path);
        json.field("block_count", holder.block_count).end_object();
    }
    json.end_array();
}

void put_growing(JsonWriter& json, const LeaksReport& report, const GrowthRow& row) {
    begin_row(json, report, row.labels);
    put_rate(json, report, "bytes", row.fit, row.fit.bytes_per_sample);
    put_rate(json, report, "blocks", row.fit, row.fit.blocks_per_sample);
    put_moment(json, report, "first", row.fit.sample);
    json.field("total_bytes", row.fit.gained_bytes);
    json.field("steps_per_rise",
               static_cast<uint64_t>(row.fit.window) * report.growth.moments.units_per_sample);
    json.field("is_replaced", row.fit.is_replaced).field("is_slow", row.is_slow);
    json.field("is_certain", row.is_certain).field("is_beside_inputs", row.is_beside_inputs);
    put_holders(json, row.holders);
    json.end_object();
}

void put_following(JsonWriter& json, const LeaksReport& report, const GrowthRow& row) {
    const FollowedInputs& inputs = *row.inputs;
    begin_row(json, report, row.labels);
    put_moment(json, report, "first", row.fit.sample);
    json.field("total_bytes", row.fit.gained_bytes).field("unit", inputs.rise.unit);
    json.field("from_count", inputs.rise.from_count).field("to_count", inputs.rise.to_count);
    json.field("batch_count", inputs.rise.batch).field("bytes_per_unit", inputs.bytes_per_unit);
    json.field("sentence", inputs_sentence(inputs)).key("inputs").begin_object();
    json.field("key", label_text(report.paths, {inputs.line}));
    put_location_of(json, {inputs.line});
    json.end_object().end_object();
}

const char* name_of(ReservedCause cause) {
    return cause == ReservedCause::kPools     ? "pools"
           : cause == ReservedCause::kStreams ? "streams"
                                              : "fragments";
}

void put_reserved_row(JsonWriter& json, const LeaksReport& report, const ReservedRow& row) {
    json.begin_object().field("key", label_text(report.paths, {row.line}));
    put_location_of(json, {row.line});
    json.field("bytes", row.bytes).field("segment_count", row.segment_count);
    json.key("streams").begin_array();
    for (const uint32_t stream : row.streams) {
        json.value(stream_text(report.reader.definitions(), stream));
    }
    json.end_array().field("pool_count", static_cast<uint64_t>(row.pools.size())).end_object();
}

void put_reserved(JsonWriter& json, const LeaksReport& report) {
    json.key("reserved_growth");
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
    json.field("sentence", cause_sentence(growth)).key("rows").begin_array();
    for (const ReservedRow& row : growth.rows) {
        put_reserved_row(json, report, row);
    }
    json.end_array().end_object();
}

void put_levelled(JsonWriter& json, const LeaksReport& report, const GrowthRow& row) {
    begin_row(json, report, row.labels);
    put_moment(json, report, "last", row.fit.sample);
    json.field("level_bytes", row.fit.level_bytes).end_object();
}

void put_returning(JsonWriter& json, const LeaksReport& report, const GrowthRow& row) {
    begin_row(json, report, row.labels);
    json.field("highest_bytes", row.fit.level_bytes);
    json.field("fall_count", static_cast<uint64_t>(row.fit.fall_count)).end_object();
}

void put_left(JsonWriter& json, const LeaksReport& report, const LeftRow& row) {
    begin_row(json, report, row.labels);
    json.field("category", row.category).field("bytes", row.bytes).field("count", row.count);
    json.field("first_step", row.first_step).field("last_step", row.last_step).end_object();
}

template <class Row>
void put_rows(JsonWriter& json,
              const LeaksReport& report,
              const char* name,
              const std::vector<Row>& rows,
              void (*put)(JsonWriter&, const LeaksReport&, const Row&)) {
    json.key(name).begin_array();
    const uint64_t shown = shown_count(report.top, rows.size());
    for (size_t i = 0; i < shown; ++i) {
        put(json, report, rows[i]);
    }
    json.end_array();
}

}  // namespace

std::string leaks_json(const LeaksReport& report) {
    const Growth& growth = report.growth;
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("file", report.reader.name());
    put_device(json, report.result.chosen.device, scope_of(report.result.is_sum));
    json.field("measure", measure_name(report.selection.request.measure));
    json.field("by", report.selection.by);
    json.field("peak_bytes", report.result.chosen.peak_bytes);
    json.field("unit", unit_name(growth.moments.unit));
    json.field("unit_count", growth.unit_count());
    json.field("is_too_short", growth.is_too_short());
    json.field("growing_count", static_cast<uint64_t>(growth.growing.size()));
    put_rows(json, report, "growth", growth.growing, put_growing);
    put_rows(json, report, "follows_inputs", growth.following, put_following);
    put_reserved(json, report);
    put_rows(json, report, "levelled_off", growth.levelled, put_levelled);
    put_rows(json, report, "returning", growth.returning, put_returning);
    put_rows(json, report, "at_end", report.left, put_left);
    json.key("findings");
    put_pieces_of_advice(json, report.paths, report.findings, report.top);
    put_health(json, report.reader, report.result.health);
    put_coverage(json, report.reader);
    return json.end_object().take();
}

}  // namespace peakline::report
