// The table of groupings and what the keys made of frames share.
#include "grouping.h"

#include <string>
#include <utility>
#include <vector>

#include "native_frames.h"
#include "near_name.h"
#include "operator_search.h"
#include "report/trace/trace_error.h"
#include "via.h"

namespace peakline::report {
namespace {

constexpr Grouping kGroupings[] = {
    {"line", place_by_line},
    {"function", place_by_function},
    {"file", place_by_file},
    {"stack", place_by_stack},
    {"module", place_by_module},
    {"tensor", place_by_tensor, false, true},
    {"op", place_by_op},
    {"raw-op", place_by_raw_op},
    {"node", place_by_node},
    {"node-stack", place_by_node_stack},
    {"phase", place_by_phase, false, false, phase_facet},
    {"step", place_by_step, false, false, step_facet, true},
    {"category", place_by_category, false, false, category_facet, true},
    {"lifetime", place_by_lifetime, false, false, lifetime_facet, true},
    {"freed-by", place_by_freed, false, false, freed_facet, true},
    {"thread", place_by_thread},
    {"stream", place_by_stream, true},
    {"device", place_by_device},
};

// False for programs without Python, and where its stacks were not asked for.
bool expects_python(const Definitions& definitions) {
    const auto stacks = definitions.meta_text("stacks");
    return stacks != "native" &&
           (stacks.empty() || !definitions.meta_text("python_version").empty());
}

Placement native_placement(StackLookup& stacks, uint32_t context_id) {
    Placement placement;
    const Context& context = stacks.definitions().contexts[context_id];
    const auto location = chosen_native_location(stacks, context);
    placement.label.frames = {*location};
    placement.label.key = location_key(*location);
    placement.via = via_of_native(stacks, context_id, *location);
    return placement;
}

}  // namespace

const Grouping& find_grouping(const std::string& name) {
    std::string list;
    std::vector<std::string> names;
    for (const Grouping& grouping : kGroupings) {
        if (name == grouping.name) {
            return grouping;
        }
        list += std::string(list.empty() ? "" : ", ") + grouping.name;
        names.emplace_back(grouping.name);
    }
    const std::string near = did_you_mean(name, names);
    throw TraceError("cannot group by '" + name + "'" + (near.empty() ? ";" : near) +
                     " --by takes one of: " + list);
}

Placement named_placement(std::string name) {
    Placement placement;
    placement.label.key = name;
    placement.label.name = std::move(name);
    return placement;
}

bool is_untraced(const StackLookup& stacks, const BlockGroup& block) {
    return stacks.definitions().is_untraced(block.context);
}

bool is_unrecorded(const StackLookup& stacks, const BlockGroup& block) {
    const Context& context = stacks.definitions().contexts[block.context];
    const bool knows_nothing =
        context.python_node == 0 && context.native_node == 0 && context.operator_name == 0;
    return block.context == 0 || ((context.flags & format::kStackUnrecorded) != 0 && knows_nothing);
}

bool place_without_frame(StackLookup& stacks, const BlockGroup& block, Placement* placement) {
    const Definitions& definitions = stacks.definitions();
    const Context& context = definitions.contexts[block.context];
    std::string name;
    if (is_untraced(stacks, block)) {
        name = kUntracedName;
    } else if (stacks.has_frames(block.context)) {
        return false;
    } else if (block.context == 0 || (context.flags & format::kStackUnrecorded) != 0) {
        name = kUnrecordedName;
    } else if ((context.flags & format::kBeforePython) != 0) {
        name = kBeforePythonName;
    } else if (context.native_node != 0 && !expects_python(definitions)) {
        *placement = native_placement(stacks, block.context);
        return true;
    } else {
        const std::string asked(context.operator_name != 0 ? definitions.text(context.operator_name)
                                                           : operator_of(stacks, block.context));
        name = kNoPythonName + (asked.empty() ? asked : ": " + asked);
    }
    *placement = named_placement(std::move(name));
    return true;
}

Location location_of(const Definitions& definitions, uint32_t frame_id) {
    const PythonFrame& frame = definitions.python_frames[frame_id];
    Location location;
    location.file = definitions.text(frame.file);
    location.line = frame.line;
    location.function = definitions.text(frame.name);
    location.qualified_name = definitions.text(frame.qualified_name);
    if (location.file.empty()) {
        location.file = "unknown file";
    }
    if (location.qualified_name.empty()) {
        location.qualified_name = location.function;
    }
    return location;
}

std::string location_key(const Location& location) {
    if (location.is_native && !location.function.empty()) {
        return location.function + " (" + location.file + ")";
    }
    std::string key = location.file;
    if (location.line != 0) {
        key += ":" + std::to_string(location.line);
    }
    if (!location.function.empty()) {
        key += " (" + location.function + ")";
    }
    return key;
}

}  // namespace peakline::report
