// The tree of --by stack for a terminal. Frames and nodes are numbered by their indices in the
// lists.
#include "stack_tree.h"

#include <algorithm>
#include <utility>

#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "report/render/format/source_json.h"
#include "report/views/blocks/stack_tree.h"

namespace peakline::report {
namespace {

void put_frame(JsonWriter& json, const PathDisplay& paths, const TreeFrame& frame) {
    const Location& location = frame.location;
    const bool is_python = !location.is_native && !location.file.empty();
    Label label;
    label.frames = {location};
    json.begin_object();
    json.field("text",
               printable(location.file.empty() ? location.function : label_text(paths, label)));
    json.field("file", is_python ? printable(location.file) : std::string());
    json.field("path", is_python ? printable(display_path(paths, location.file)) : std::string());
    json.field("number", location.line).field("function", printable(location.function));
    json.field("qualified_name", printable(location.qualified_name));
    json.key("source");
    put_source(json, paths, location);
    json.field("is_passed_over", frame.is_passed_over);
    json.field("is_import", frame.is_import).end_object();
}

// "7 frames of torch", "2 to 4 frames of torch, transformers"
std::string folded_text(const FoldedFrames& folded) {
    if (folded.most == 0) {
        return {};
    }
    std::string text = format_count(folded.least);
    if (folded.least != folded.most) {
        text += " to " + format_count(folded.most);
    }
    text += folded.most == 1 ? " frame" : " frames";
    const char* separator = " of ";
    for (const std::string& package : folded.packages) {
        text += separator + package;
        separator = ", ";
    }
    return printable(text);
}

// Largest part first.
void put_split(JsonWriter& json, const TreeNode& node) {
    std::vector<std::pair<std::string, int64_t>> parts(node.split.begin(), node.split.end());
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
        return a.second > b.second;
    });
    json.key("split").begin_array();
    for (const auto& [name, bytes] : parts) {
        json.begin_object().field("name", printable(name)).field("bytes", bytes);
        json.field("held", format_bytes(bytes)).end_object();
    }
    json.end_array();
}

void put_node(JsonWriter& json, const TreeNode& node) {
    json.begin_object().field("parent", node.parent).field("depth", node.depth).key("frame");
    node.frame.has_value() ? json.value(*node.frame) : json.null();
    json.field("folded", folded_text(node.folded));
    json.field("bytes", node.bytes).field("count", node.count).field("share", node.share);
    json.field("held", format_bytes(node.bytes)).field("percent", format_percent(node.share));
    json.field("blocks", format_count(node.count));
    json.field("own", format_bytes(node.own_bytes));
    put_split(json, node);
    json.field("left_out_count", node.left_out_count);
    json.field("left_out", format_bytes(node.left_out_bytes)).end_object();
}

void put_nodes(JsonWriter& json, std::string_view name, const StackTree& tree) {
    json.key(name).begin_array();
    for (const TreeNode& node : tree.nodes) {
        put_node(json, node);
    }
    json.end_array();
}

}  // namespace

std::string stack_trees_json(const TableReport& report, size_t key) {
    const uint64_t shown = shown_count(report.top, report.table.rows.size());
    const FramePolicy& policy = report.selection.frames;
    const StackTree folded =
        build_stack_tree(report.table, key, shown, policy, Folding::kPassedOver);
    // Both trees number the frames in the order of the rows.
    const StackTree whole = build_stack_tree(report.table, key, shown, policy, Folding::kNone);
    JsonWriter json;
    json.begin_object().key("frames").begin_array();
    for (const TreeFrame& frame : whole.frames) {
        put_frame(json, report.paths, frame);
    }
    json.end_array();
    put_nodes(json, "folded", folded);
    put_nodes(json, "whole", whole);
    return json.end_object().take();
}

}  // namespace peakline::report
