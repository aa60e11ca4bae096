// The table of groupings, and helpers shared by the keys made of frames.
#include "grouping.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "report/attribute/operators/native_frames.h"
#include "report/attribute/operators/operator_search.h"
#include "report/replay/values/near_name.h"
#include "report/trace/file/trace_error.h"
#include "via.h"

namespace peakline::report {

// The functions of the table, each in the file of its key.
RowOfBlock row_by_function, row_by_file, row_by_stack, row_by_module, row_by_tensor, row_by_raw_op,
    row_by_node, row_by_node_stack, row_by_phase, row_by_step, row_by_category, row_by_lifetime,
    row_by_freed, row_by_library, row_by_stream, row_by_tag, row_by_device;
FacetOfBlock phase_facet, step_facet, lifetime_facet, freed_facet;

namespace {

constexpr Grouping kGroupings[] = {
    {.name = "line", .help = "of the frame that --frame chooses", .row_of = row_by_line},
    {.name = "function", .help = "of that frame", .row_of = row_by_function},
    {.name = "file", .help = "of that frame", .row_of = row_by_file},
    {.name = "stack", .help = "all Python frames", .row_of = row_by_stack},
    {.name = "module",
     .help = "instance, as in named_modules()",
     .row_of = row_by_module,
     .page_name = "module",
     .reads_tensors = true},
    {.name = "tensor",
     .help = "parameter, gradient, ... by name",
     .row_of = row_by_tensor,
     .needs_tensors = true,
     .reads_tensors = true},
    {.name = "op",
     .help = "operator of torch that allocated",
     .row_of = row_by_op,
     .page_name = "operator"},
    {.name = "raw-op", .help = "innermost operator of torch", .row_of = row_by_raw_op},
    {.name = "node", .help = "of the backward pass, with its forward line", .row_of = row_by_node},
    {.name = "node-stack", .help = "with its forward stack", .row_of = row_by_node_stack},
    {.name = "phase",
     .help = "forward, backward, ...",
     .row_of = row_by_phase,
     .page_name = "phase",
     .facet = phase_facet},
    {.name = "step",
     .help = "in which blocks were made",
     .row_of = row_by_step,
     .facet = step_facet,
     .needs_lives = true,
     .needs_events = true},
    {.name = "category",
     .help = "parameter, activation, ...",
     .row_of = row_by_category,
     .page_name = "category",
     .facet = category_facet,
     .needs_events = true},
    {.name = "lifetime",
     .help = "how long blocks are held",
     .row_of = row_by_lifetime,
     .page_name = "lifetime",
     .facet = lifetime_facet,
     .needs_lives = true,
     .needs_events = true},
    {.name = "freed-by",
     .help = "line that freed them",
     .row_of = row_by_freed,
     .facet = freed_facet,
     .needs_lives = true,
     .needs_events = true},
    {.name = "tag", .help = "that the program set, of imported snapshots", .row_of = row_by_tag},
    {.name = "library", .help = "or program that allocated", .row_of = row_by_library},
    {.name = "thread", .help = "that allocated", .row_of = row_by_thread},
    {.name = "stream",
     .help = "the blocks were made for",
     .row_of = row_by_stream,
     .needs_streams = true},
    {.name = "device", .help = "for --device all", .row_of = row_by_device},
};

constexpr size_t kPageKeyCount =
    std::ranges::count_if(kGroupings, [](const Grouping& one) { return one.page_name != nullptr; });
static_assert(kPageKeyCount <= kMostPageKeys);

constexpr std::array<const Grouping*, kPageKeyCount> find_page_keys() {
    std::array<const Grouping*, kPageKeyCount> keys = {};
    size_t count = 0;
    for (const Grouping& one : kGroupings) {
        if (one.page_name != nullptr) {
            keys[count++] = &one;
        }
    }
    return keys;
}
constexpr std::array<const Grouping*, kPageKeyCount> kPageKeys = find_page_keys();

// False for programs without Python, and for recordings without Python stacks.
bool expects_python(const Definitions& definitions) {
    const auto stacks = definitions.meta_text("stacks");
    return stacks != "native" &&
           (stacks.empty() || !definitions.meta_text("python_version").empty());
}

BlockRow native_row(StackLookup& stacks, uint32_t context_id) {
    BlockRow row;
    const Context& context = stacks.definitions().contexts[context_id];
    const auto location = chosen_native_location(stacks, context);
    row.label.frames = {*location};
    row.label.key = location_key(*location);
    row.via = via_of_native(stacks, context_id, *location);
    return row;
}

}  // namespace

std::span<const Grouping> groupings() {
    return kGroupings;
}

std::span<const Grouping* const> page_groupings() {
    return kPageKeys;
}

const char* option_of(KeyUse use) {
    return use == KeyUse::kRows ? "--by" : "--where";
}

const Grouping& find_grouping(const std::string& name, KeyUse use) {
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
    throw TraceError(std::string("cannot ") + (use == KeyUse::kRows ? "group" : "select") +
                     " by '" + name + "'" + (near.empty() ? ";" : near) + " " + option_of(use) +
                     " takes one of: " + list);
}

BlockRow named_row(std::string name) {
    BlockRow row;
    row.label.key = name;
    row.label.name = std::move(name);
    return row;
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

bool row_without_frame(StackLookup& stacks, const BlockGroup& block, BlockRow* row) {
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
        *row = native_row(stacks, block.context);
        return true;
    } else {
        const std::string op(context.operator_name != 0 ? definitions.text(context.operator_name)
                                                        : operator_of(stacks, block.context));
        name = kNoPythonName + (op.empty() ? op : ": " + op);
    }
    *row = named_row(std::move(name));
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
    if (location.is_native && location.line == 0 && !location.function.empty()) {
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
