// Writes the numbers of a page as columns and its names as JSON.
#include "page_report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "page_columns.h"
#include "page_map_json.h"
#include "page_numbers.h"
#include "page_refused.h"
#include "report/attribute/stacks/frame_policy.h"
#include "report/render/advice/advise_report.h"
#include "report/render/calls/phases_report.h"
#include "report/render/format/device_json.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/printable.h"
#include "report/render/format/source_json.h"
#include "report/render/format/tensor_type.h"
#include "report/render/growth/growth_rates.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"
#include "report/trace/file/trace_error.h"
#include "report/views/advice/advice.h"
#include "report/views/selection/refusals.h"

namespace peakline::report {
namespace {

// A map of every event may take one in so many bytes of the page.
constexpr uint64_t kShareOfMap = 2;
constexpr uint64_t kShareOfGrowth = 8;
constexpr uint64_t kBytesOfGrowthChange = 4;  // compressed
constexpr uint64_t kLeastOfLargest = 4;       // advice covers a quarter of the largest category
constexpr size_t kMostSources = 400;
constexpr uint64_t kBytesOfMapChange = 9;  // compressed; half of the changes are blocks

class PageWriter {
public:
    PageWriter(const TraceReader& reader,
               const ReportOptions& options,
               const Selection& selection,
               const Page& page,
               StackLookup& stacks)
        : reader_(reader), options_(options), selection_(selection), page_(page), stacks_(stacks) {}

    PageFile write(int64_t unit, const CodedColumns& coded) {
        PageFile file;
        json_.begin_object().field("schema_version", 1);
        json_.key("run").begin_object();
        put_run_facts(json_, reader_);
        json_.end_object();
        const bool is_sum = selection_.request.device.kind == DeviceChoiceKind::kAll;
        put_device(json_, page_.chosen.device, scope_of(is_sum));
        json_.field("measure", measure_name(selection_.request.measure));
        json_.field("event_count", page_.phases.health.event_count);
        json_.field("level_event_count", page_.event_count);
        json_.field("total_allocated_bytes", page_.chosen.total_allocated_bytes);
        json_.field("tick_seconds", reader_.seconds(1)).field("end_tick", page_.end_tick);
        json_.field("work_end_seconds", reader_.seconds(work_end_tick(page_)));
        json_.field("temporary_others", static_cast<uint64_t>(kTemporaryOthers));
        json_.field("byte_unit", unit);
        json_.field("events_per_point", page_.points.events_per_point());
        json_.field("points_per_moment",
                    page_.moments.events_per_moment() / page_.points.events_per_point());
        const PagePeak peak = find_peak(page_);
        put_peak(peak);
        put_advice();
        put_refused();
        put_page_map(json_, {reader_, options_, page_, stacks_});
        put_names();
        put_sources();
        put_growth();
        put_tensors();
        json_.key("phases").embed(document_of<PhasesReport>(
            OutputForm::kJson, put_phases, {reader_, selection_, page_.phases, page_.chosen, 0}));
        put_columns(coded, &file.columns);
        put_health(json_, reader_, page_.phases.health);
        file.json = json_.end_object().take();
        return file;
    }

private:
    void put_peak(const PagePeak& peak) {
        const PagePoint& point = page_.points.points()[peak.point];
        json_.key("peak").begin_object().field("point", static_cast<uint64_t>(peak.point));
        json_.field("bytes", point.peak.bytes);
        json_.field("seconds", reader_.seconds(point.peak_tick));
        put_levels("categories", point.categories);
        put_rows(peak.rows);
        json_.end_object();
    }

    // Null when the run is too long to be replayed for each piece of advice.
    void put_advice() {
        json_.key("advice");
        if (page_.phases.health.event_count > kMostEventsUnasked) {
            json_.null();
            return;
        }
        std::vector<Advice> advice = build_advice(reader_, selection_, stacks_, {}).advice;
        std::erase_if(advice, [&](const Advice& one) { return !is_of_size(one); });
        put_pieces_of_advice(json_, options_.paths, advice, 0);
    }

    // Whether a piece of advice covers a relevant share of a full device. After a step that ran out
    // of memory the rules do not know its activations, which no pass used yet: advice about the
    // small rest does not explain why memory ran out.
    bool is_of_size(const Advice& advice) const {
        if (page_.refused.empty()) {
            return true;
        }
        const uint64_t bytes = advice.saves_bytes.value_or(0);
        return (bytes != 0 ? bytes : advice.held_bytes) * kLeastOfLargest >=
               std::ranges::max(page_.refused.back().categories);
    }

    void put_rows(const std::vector<PageRow>& rows) {
        json_.key("lines").begin_array();
        for (const PageRow& row : rows) {
            json_.begin_object().field("line", row.line).field("bytes", row.bytes);
            json_.field("count", row.count);
            put_levels("categories", row.categories);
            if (const auto caller = row.main_caller()) {
                const Location& location = page_.names.frames[*caller].location;
                json_.field("called_from",
                            display_path(options_.paths, location.file) + ":" +
                                std::to_string(location.line));
            }
            json_.end_object();
        }
        json_.end_array();
    }

    void put_refused() {
        json_.field("most_refused", static_cast<uint64_t>(Page::kMaxRefused));
        json_.key("refused").begin_array();
        for (const PageRefused& one : page_.refused) {
            const OutOfMemory& request = one.request;
            BlockGroup block;
            block.context = reader_.definitions().known_context(request.context);
            const Label label = row_by_line(stacks_, block).label;
            json_.begin_object().field("seconds", reader_.seconds(request.tick));
            json_.field("point", static_cast<uint64_t>(one.point));
            json_.field("device", request.device);
            json_.field("requested_bytes", request.requested_bytes);
            json_.field("free_bytes", request.free_bytes);
            json_.field("key", label_text(options_.paths, label));
            if (!label.frames.empty()) {
                put_line(label.frames.front());
            }
            json_.field("level_bytes", one.level_bytes).key("reserved_bytes");
            one.reserved_bytes ? json_.value(*one.reserved_bytes) : json_.null();
            put_refused_sentences(json_, one);
            put_levels("categories", one.categories);
            put_rows(one.rows);
            json_.field("line_count", static_cast<uint64_t>(one.row_count)).end_object();
        }
        json_.end_array();
    }

    void put_growth() {
        const PageGrowth& growth = page_.growth;
        const UnitWords words = words_of(growth.unit);
        json_.key("growth").begin_object().field("unit", unit_name(growth.unit));
        json_.field("one", growth.unit == GrowthUnit::kTime ? "part" : words.one);
        json_.field("many", words.many).field("stride", growth.stride).end_object();
    }

    void put_tensors() {
        const PageTensors& tensors = page_.tensors;
        json_.key("tensors").begin_object().field("left_out_count", tensors.left_out_count);
        json_.field("names", tensors.names).key("types").begin_array();
        for (const uint32_t type : tensors.types) {
            json_.begin_object();
            put_tensor_type(json_, reader_.definitions(), type);
            json_.end_object();
        }
        json_.end_array();
        put_labels("savers", tensors.savers);
        put_labels("freed_by", tensors.freed_by);
        json_.end_object();
    }

    void put_labels(const char* name, const std::vector<Label>& labels) {
        json_.key(name).begin_array();
        for (const Label& label : labels) {
            json_.value(label_text(options_.paths, label));
        }
        json_.end_array();
    }

    void put_levels(const char* name, const CategoryLevels& levels) {
        json_.key(name).begin_array();
        for (size_t i = 0; i < page_.names.categories().size(); ++i) {
            json_.value(levels[i]);
        }
        json_.end_array();
    }

    void put_place(const Location& location) {
        json_.field("file", display_path(options_.paths, location.file));
        json_.field("path", location.file).field("line", location.line);
        json_.field("function",
                    location.qualified_name.empty() ? location.function : location.qualified_name);
        const std::string code = code_at(options_.paths, location);
        if (!code.empty()) {
            json_.field("code", printable(code));
        } else if (is_changed_since(options_.paths, location)) {
            json_.field("is_changed", true);
        }
    }

    // A line of a table: of one of the program itself, the page has the lines around it, too.
    void put_line(const Location& location) {
        put_place(location);
        if (shown_.size() < kMostSources && is_users_file(location.file)) {
            shown_.try_emplace(location.file + ":" + std::to_string(location.line), location);
        }
    }

    void put_sources() {
        json_.key("sources").begin_object();
        for (const auto& [key, location] : shown_) {
            json_.key(key);
            put_source(json_, options_.paths, location);
        }
        json_.end_object();
    }

    void put_names() {
        const PageNames& names = page_.names;
        json_.field("categories", names.categories()).field("vias", names.vias);
        json_.key("keys").begin_array();
        for (const PageKey& key : names.keys) {
            json_.begin_object().field("by", key.grouping->name);
            json_.field("name", key.grouping->page_name).field("names", key.names).end_object();
        }
        json_.end_array();
        json_.key("lines").begin_array();
        for (const Label& label : names.lines) {
            json_.begin_object().field("key", label_text(options_.paths, label));
            if (!label.frames.empty()) {
                put_line(label.frames.front());
            }
            json_.end_object();
        }
        json_.end_array().key("frames").begin_array();
        for (const PageFrame& frame : names.frames) {
            json_.begin_object();
            put_place(frame.location);
            json_.field("passes_on", frame.passes_on).field("is_users", frame.is_users);
            json_.field("is_native", frame.location.is_native);
            json_.end_object();
        }
        json_.end_array();
    }

    void put_columns(const CodedColumns& coded, std::string* bytes) {
        json_.key("columns").begin_array();
        for (const PageColumn& column : kPageColumns) {
            const auto found = coded.find(column.name);
            const CodedColumn& one = found != coded.end() ? found->second : CodedColumn();
            json_.begin_object().field("name", column.name);
            json_.field("coding", coding_name(column.coding));
            json_.field("width", one.width).field("count", one.count).end_object();
            *bytes += one.planes;
        }
        json_.end_array();
    }

    const TraceReader& reader_;
    const ReportOptions& options_;
    const Selection& selection_;
    const Page& page_;
    StackLookup& stacks_;
    std::map<std::string, Location> shown_;  // lines of the program itself, by path and number
    JsonWriter json_;
};

}  // namespace

PageFile make_page(const TraceReader& reader,
                   const ReportOptions& options,
                   const PageRequest& request,
                   uint64_t budget_bytes,
                   const Progress& progress) {
    SelectionText text = options.selection;
    text.by = text.native ? "stack" : text.by;  // a page has all keys
    const Selection selection = parse_selection(text, reader);
    refuse_where(selection, "html");
    need_events(reader, "html");
    StackLookup stacks(reader.definitions(), selection.frames);
    PageRequest fitted = request;
    fitted.limits.map_changes = budget_bytes / kShareOfMap / kBytesOfMapChange;
    fitted.limits.growth_changes = budget_bytes / kShareOfGrowth / kBytesOfGrowthChange;
    Page page = build_page(reader, selection, fitted, stacks, progress);
    const int64_t unit = unit_of(page);
    const CodedColumns coded = code_within(page, unit, budget_bytes);
    return PageWriter(reader, options, selection, page, stacks).write(unit, coded);
}

}  // namespace peakline::report
