#include "step_levels_report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "report/render/format/json_writer.h"
#include "report/render/growth/growth_rates.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

// The keys of an outline: `peakline html` compares peaks by the same ones.
constexpr std::array<const char*, 3> kKeys = {"module", "op", "category"};
// Names of the line and of each of kKeys.
using Group = std::array<uint32_t, 1 + kKeys.size()>;

std::array<size_t, kKeys.size()> key_numbers(const PageNames& names) {
    std::array<size_t, kKeys.size()> numbers = {};
    for (size_t i = 0; i < kKeys.size(); ++i) {
        const auto found =
            std::find_if(names.keys.begin(), names.keys.end(), [&](const PageKey& one) {
                return std::string_view(one.grouping->name) == kKeys[i];
            });
        numbers[i] = static_cast<size_t>(found - names.keys.begin());
    }
    return numbers;
}

// Contexts differ by more than these keys: each group stands once.
class Groups {
public:
    explicit Groups(const PageNames& names) {
        const auto numbers = key_numbers(names);
        for (const PageContext& context : names.contexts) {
            Group group = {context.line};
            for (size_t i = 0; i < kKeys.size(); ++i) {
                group[i + 1] = context.keys[numbers[i]];
            }
            const auto [at, is_new] =
                ids_.try_emplace(group, static_cast<uint32_t>(groups_.size()));
            if (is_new) {
                groups_.push_back(group);
            }
            of_context_.push_back(at->second);
        }
    }
    uint32_t of(uint32_t context) const { return of_context_[context]; }
    const std::vector<Group>& all() const { return groups_; }

private:
    std::map<Group, uint32_t> ids_;
    std::vector<Group> groups_;
    std::vector<uint32_t> of_context_;
};

void put_changes(JsonWriter& json, const StepLevels& levels, const Groups& groups) {
    json.key("changes").begin_array();
    size_t begin = 0;
    for (const size_t end : levels.change_ends) {
        std::map<uint32_t, int64_t> sums;
        for (size_t i = begin; i < end; ++i) {
            sums[groups.of(levels.changes[i].context)] += levels.changes[i].bytes;
        }
        begin = end;
        json.begin_array();
        for (const auto& [group, bytes] : sums) {
            if (bytes != 0) {
                json.value(group).value(bytes);
            }
        }
        json.end_array();
    }
    json.end_array();
}

void put_names(JsonWriter& json, const StepLevelsReport& report) {
    const PageNames& names = report.levels.names;
    json.key("names").begin_object().key("line").begin_array();
    for (const Label& label : names.lines) {
        json.value(label_text(report.paths, label));
    }
    json.end_array();
    const auto numbers = key_numbers(names);
    for (size_t i = 0; i < kKeys.size(); ++i) {
        json.field(kKeys[i], names.keys[numbers[i]].names);
    }
    json.end_object();
}

}  // namespace

std::string step_levels_json(const StepLevelsReport& report) {
    const StepLevels& levels = report.levels;
    JsonWriter json;
    json.begin_object().field("schema_version", 1);
    json.field("device", levels.chosen.device).field("unit", unit_name(levels.unit));
    const bool is_by_time = levels.unit == GrowthUnit::kTime;
    json.field("one", is_by_time ? "part" : words_of(levels.unit).one);
    json.field("steps", levels.steps).field("end_step", levels.end_step);
    json.field("parts_per_step", static_cast<uint64_t>(levels.parts_per_step));
    json.key("peaks").begin_array();
    for (const StepPart& part : levels.parts) {
        json.value(part.peak.bytes);
    }
    json.end_array().key("peak_seconds").begin_array();
    for (const StepPart& part : levels.parts) {
        json.value(report.reader.seconds(part.peak_tick));
    }
    json.end_array();
    const Groups groups(levels.names);
    put_names(json, report);
    json.key("groups").begin_array();
    for (const Group& group : groups.all()) {
        for (const uint32_t name : group) {
            json.value(name);
        }
    }
    json.end_array();
    put_changes(json, levels, groups);
    return json.end_object().take();
}

}  // namespace peakline::report
