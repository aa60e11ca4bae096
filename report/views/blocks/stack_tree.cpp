#include "stack_tree.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "report/symbols/frame_names.h"

namespace peakline::report {
namespace {

// The name for a folded frame: the package, "Python" for its library, else the file.
std::string package_of(const Location& location) {
    const std::string in_packages = path_in_packages(location.file);
    if (!in_packages.empty()) {
        const std::string first = in_packages.substr(0, in_packages.find('/'));
        return first.ends_with(".py") ? first.substr(0, first.size() - 3) : first;
    }
    const bool is_python = location.file.starts_with("<frozen ") ||
                           location.file.find("/lib/python") != std::string::npos;
    return is_python ? "Python" : std::string(file_name_of(location.file));
}

class TreeBuilder {
public:
    TreeBuilder(size_t key, const FramePolicy& policy, Folding folding)
        : key_(key), policy_(policy), folding_(folding) {}

    void add(const TableRow& row, bool is_shown);
    StackTree take(double total_bytes);

private:
    struct OpenNode {
        TreeNode node;
        bool is_shown = false;
        std::vector<uint32_t> children;
    };
    struct Step {
        std::optional<uint32_t> frame;
        FoldedFrames folded;
    };

    uint32_t frame_id(const Location& location);
    std::vector<Step> steps_of(const Label& label);
    uint32_t child(uint32_t parent, const Step& step);
    void put(uint32_t node, uint32_t parent, uint32_t depth, StackTree* tree);

    const size_t key_;
    const FramePolicy& policy_;
    const Folding folding_;
    std::vector<TreeFrame> frames_;
    std::vector<OpenNode> nodes_ = {{}};
    std::unordered_map<std::string, uint32_t> frame_ids_;
    // The id of a frame plus 1, or 0 for none.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> child_ids_;
};

uint32_t TreeBuilder::frame_id(const Location& location) {
    const std::string key = location_key(location) + "\n" + location.qualified_name;
    const auto next = static_cast<uint32_t>(frames_.size());
    const auto [at, is_new] = frame_ids_.try_emplace(key, next);
    if (is_new) {
        const bool is_python = !location.is_native && !location.file.empty();
        const bool is_passed_over =
            is_python && (is_hidden_file(policy_, location.file) ||
                          passes_over_function(policy_, location.file, location.function));
        frames_.push_back(
            {location, is_passed_over, location.file.starts_with("<frozen importlib")});
    }
    return at->second;
}

// The steps of a stack from root to leaf. The row's name, if it has one, is the action of its
// innermost frame.
std::vector<TreeBuilder::Step> TreeBuilder::steps_of(const Label& label) {
    std::vector<uint32_t> frames;
    for (auto frame = label.frames.rbegin(); frame != label.frames.rend(); ++frame) {
        frames.push_back(frame_id(*frame));
    }
    if (!label.name.empty() || label.frames.empty()) {
        Location named;
        named.function = label.name;
        frames.push_back(frame_id(named));
    }
    std::vector<Step> steps;
    FoldedFrames folded;
    for (const uint32_t frame : frames) {
        if (folding_ == Folding::kPassedOver && frames_[frame].is_passed_over) {
            folded.most = ++folded.least;
            folded.packages.insert(package_of(frames_[frame].location));
        } else {
            steps.push_back({frame, std::exchange(folded, {})});
        }
    }
    if (folded.most != 0) {
        steps.push_back({std::nullopt, std::move(folded)});
    }
    return steps;
}

uint32_t TreeBuilder::child(uint32_t parent, const Step& step) {
    const auto next = static_cast<uint32_t>(nodes_.size());
    const uint32_t frame = step.frame.has_value() ? *step.frame + 1 : 0;
    const auto [at, is_new] = child_ids_.try_emplace({parent, frame}, next);
    if (is_new) {
        nodes_[parent].children.push_back(next);
        nodes_.emplace_back().node.frame = step.frame;
        nodes_.back().node.folded = step.folded;
    } else {
        FoldedFrames& folded = nodes_[at->second].node.folded;
        folded.least = std::min(folded.least, step.folded.least);
        folded.most = std::max(folded.most, step.folded.most);
        folded.packages.insert(step.folded.packages.begin(), step.folded.packages.end());
    }
    return at->second;
}

void TreeBuilder::add(const TableRow& row, bool is_shown) {
    const auto add_to = [&](uint32_t node) {
        nodes_[node].node.bytes += row.bytes;
        nodes_[node].node.count += row.count;
        nodes_[node].is_shown |= is_shown;
        for (size_t i = 0; i < row.labels.size(); ++i) {
            if (i != key_) {
                nodes_[node].node.split[row.labels[i].key] += row.bytes;
            }
        }
    };
    uint32_t at = 0;
    add_to(at);
    for (const Step& step : steps_of(row.labels[key_])) {
        at = child(at, step);
        add_to(at);
    }
    nodes_[at].node.own_bytes += row.bytes;
}

// Adds the node itself; its children follow it in `take`.
void TreeBuilder::put(uint32_t node, uint32_t parent, uint32_t depth, StackTree* tree) {
    OpenNode& open = nodes_[node];
    std::stable_sort(open.children.begin(), open.children.end(), [&](uint32_t a, uint32_t b) {
        return nodes_[a].node.bytes > nodes_[b].node.bytes;
    });
    open.node.parent = parent;
    open.node.depth = depth;
    for (const uint32_t one : open.children) {
        if (!nodes_[one].is_shown) {
            ++open.node.left_out_count;
            open.node.left_out_bytes += nodes_[one].node.bytes;
        }
    }
    tree->nodes.push_back(std::move(open.node));
}

// Not recursive, because a stack can be as deep as Python allows.
StackTree TreeBuilder::take(double total_bytes) {
    struct Waiting {
        uint32_t node;
        uint32_t parent;  // in the tree
        uint32_t depth;
    };
    StackTree tree;
    std::vector<Waiting> waiting = {{0, 0, 0}};
    while (!waiting.empty()) {
        const Waiting next = waiting.back();
        waiting.pop_back();
        const auto index = static_cast<uint32_t>(tree.nodes.size());
        put(next.node, next.parent, next.depth, &tree);
        TreeNode& node = tree.nodes.back();
        node.share = total_bytes == 0 ? 0 : static_cast<double>(node.bytes) / total_bytes;
        const auto& children = nodes_[next.node].children;
        for (auto one = children.rbegin(); one != children.rend(); ++one) {
            if (nodes_[*one].is_shown) {
                waiting.push_back({*one, index, next.depth + 1});
            }
        }
    }
    tree.frames = std::move(frames_);
    return tree;
}

}  // namespace

StackTree build_stack_tree(
    const Table& table, size_t key, uint64_t shown, const FramePolicy& policy, Folding folding) {
    TreeBuilder builder(key, policy, folding);
    for (size_t i = 0; i < table.rows.size(); ++i) {
        builder.add(table.rows[i], i < shown);
    }
    return builder.take(static_cast<double>(table.total_bytes));
}

}  // namespace peakline::report
