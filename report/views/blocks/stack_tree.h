// The rows of --by stack as a tree, root first, with the bytes allocated through every frame.
// Frames that only pass a call on may be folded: they are counted at the frame they lead to. Pure
// aggregation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/attribute/stacks/frame_policy.h"
#include "table.h"

namespace peakline::report {

struct TreeFrame {
    // without a file: `function` is the text of a stack without frames
    Location location;
    bool is_passed_over = false;  // by the choice of --frame
    bool is_import = false;       // of Python's import system
};

// Frames that are left out between a node and its parent. Stacks that differ in nothing else share
// a node, so some have fewer of these frames than others.
struct FoldedFrames {
    uint64_t least = 0;
    uint64_t most = 0;
    std::set<std::string> packages;  // "torch"
};

struct TreeNode {
    uint32_t parent = 0;            // smaller than the node's own index; node 0 is the total
    uint32_t depth = 0;             // 0 for node 0
    std::optional<uint32_t> frame;  // none: the total, or stacks that end in folded frames
    FoldedFrames folded;
    int64_t bytes = 0;
    uint64_t count = 0;  // blocks
    double share = 0;    // part of the total
    std::map<std::string, int64_t>
        split;              // bytes by the other key of the rows, where they have two
    int64_t own_bytes = 0;  // of stacks that end here
    // Children that are not shown, because only the largest stacks are.
    uint64_t left_out_count = 0;
    int64_t left_out_bytes = 0;
};

struct StackTree {
    std::vector<TreeFrame> frames;
    std::vector<TreeNode> nodes;  // a node, then all below it; the largest child first
};

enum class Folding { kNone, kPassedOver };

// Builds the tree from rows whose label number `key` is a whole stack. Rows after the first `shown`
// count, but have no nodes of their own.
StackTree build_stack_tree(
    const Table& table, size_t key, uint64_t shown, const FramePolicy& policy, Folding folding);

}  // namespace peakline::report
