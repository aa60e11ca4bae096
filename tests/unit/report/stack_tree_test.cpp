// The tree of --by stack, compared with sums over all beginnings of all stacks.
#include "report/views/blocks/stack_tree.h"

#include <map>
#include <random>

#include "report/render/format/path_display.h"
#include "report/render/format/printable.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using report::Folding;

report::Location location(const std::string& file, uint32_t line) {
    report::Location made;
    made.file = file;
    made.line = line;
    made.function = "f" + std::to_string(line);
    return made;
}

bool is_torch(const report::Location& frame) {
    return frame.file.find("/site-packages/torch/") != std::string::npos;
}

// Few frames, so that stacks have beginnings in common.
report::Table random_table(uint32_t seed) {
    std::mt19937 random(seed);
    report::Table table;
    const auto row_count = 1 + random() % 40;
    for (uint32_t i = 0; i < row_count; ++i) {
        report::TableRow row;
        row.labels.resize(1);
        const auto depth = random() % 9;
        for (uint32_t frame = 0; frame < depth; ++frame) {
            const bool in_torch = random() % 2 == 0;
            row.labels[0].frames.push_back(
                location(in_torch ? "/v/site-packages/torch/nn.py" : "/p/train.py",
                         1 + static_cast<uint32_t>(random() % 3)));
        }
        if (depth == 0) {
            row.labels[0].name = "untraced";
        }
        row.bytes = 1 + static_cast<int64_t>(random() % 1000);
        row.count = 1 + random() % 5;
        table.total_bytes += static_cast<uint64_t>(row.bytes);
        table.rows.push_back(row);
    }
    return table;
}

// The way from the root, without the frames that are folded; "..." for some at the leaf.
std::vector<std::string> way_of(const report::Label& label, Folding folding) {
    std::vector<std::string> way;
    bool ends_folded = false;
    for (auto frame = label.frames.rbegin(); frame != label.frames.rend(); ++frame) {
        ends_folded = folding == Folding::kPassedOver && is_torch(*frame);
        if (!ends_folded) {
            way.push_back(report::location_key(*frame));
        }
    }
    if (ends_folded) {
        way.emplace_back("...");
    }
    if (label.frames.empty()) {
        way.push_back(label.name);
    }
    return way;
}

struct Sums {
    int64_t bytes = 0;
    uint64_t count = 0;
    bool operator==(const Sums&) const = default;
};
using Ways = std::map<std::vector<std::string>, Sums>;

Ways expected_ways(const report::Table& table, Folding folding) {
    Ways ways;
    for (const report::TableRow& row : table.rows) {
        std::vector<std::string> way;
        const auto add = [&] {
            ways[way].bytes += row.bytes;
            ways[way].count += row.count;
        };
        add();
        for (const std::string& step : way_of(row.labels[0], folding)) {
            way.push_back(step);
            add();
        }
    }
    return ways;
}

std::string step_of(const report::StackTree& tree, const report::TreeNode& node) {
    if (!node.frame.has_value()) {
        return "...";
    }
    const report::Location& frame = tree.frames[*node.frame].location;
    return frame.file.empty() ? frame.function : report::location_key(frame);
}

std::vector<std::vector<std::string>> ways_of_nodes(const report::StackTree& tree) {
    std::vector<std::vector<std::string>> ways(tree.nodes.size());
    for (size_t i = 1; i < tree.nodes.size(); ++i) {
        REQUIRE(tree.nodes[i].parent < i);
        ways[i] = ways[tree.nodes[i].parent];
        ways[i].push_back(step_of(tree, tree.nodes[i]));
        CHECK(ways[i].size() == tree.nodes[i].depth);
    }
    return ways;
}

TEST_CASE("a node of the tree has the bytes of all stacks that begin with its path",
          "[report][tree]") {
    const report::FramePolicy policy;
    for (uint32_t seed = 0; seed < 200; ++seed) {
        const report::Table table = random_table(seed);
        for (const Folding folding : {Folding::kNone, Folding::kPassedOver}) {
            const auto tree =
                report::build_stack_tree(table, 0, table.rows.size(), policy, folding);
            const auto ways = ways_of_nodes(tree);
            Ways found;
            std::vector<int64_t> below(tree.nodes.size());
            std::vector<int64_t> last_child(tree.nodes.size(), INT64_MAX);
            for (size_t i = 0; i < tree.nodes.size(); ++i) {
                const report::TreeNode& node = tree.nodes[i];
                CHECK(found.emplace(ways[i], Sums{node.bytes, node.count}).second);
                if (i != 0) {
                    below[node.parent] += node.bytes;
                    CHECK(node.bytes <= last_child[node.parent]);
                    last_child[node.parent] = node.bytes;
                }
            }
            CHECK(found == expected_ways(table, folding));
            for (size_t i = 0; i < tree.nodes.size(); ++i) {
                CHECK(tree.nodes[i].own_bytes + below[i] == tree.nodes[i].bytes);
                CHECK(tree.nodes[i].left_out_count == 0);
            }
        }
    }
}

TEST_CASE("stacks left out of the tree are counted at their parent", "[report][tree]") {
    const report::FramePolicy policy;
    for (uint32_t seed = 0; seed < 200; ++seed) {
        const report::Table table = random_table(seed);
        const uint64_t shown = seed % (table.rows.size() + 1);
        const auto tree = report::build_stack_tree(table, 0, shown, policy, Folding::kNone);
        const Ways all = expected_ways(table, Folding::kNone);
        const auto ways = ways_of_nodes(tree);
        std::vector<int64_t> below(tree.nodes.size());
        for (size_t i = 0; i < tree.nodes.size(); ++i) {
            CHECK(all.at(ways[i]) == Sums{tree.nodes[i].bytes, tree.nodes[i].count});
            below[tree.nodes[i].parent] += i == 0 ? 0 : tree.nodes[i].bytes;
        }
        for (size_t i = 0; i < tree.nodes.size(); ++i) {
            const report::TreeNode& node = tree.nodes[i];
            CHECK(node.own_bytes + below[i] + node.left_out_bytes == node.bytes);
        }
    }
}

TEST_CASE("folded frames are counted with their packages", "[report][tree]") {
    report::Table table;
    const auto add = [&](std::vector<report::Location> leaf_to_root) {
        report::TableRow row;
        row.labels.resize(1);
        row.labels[0].frames = std::move(leaf_to_root);
        row.bytes = 10;
        table.total_bytes += 10;
        table.rows.push_back(row);
    };
    const auto torch = [](uint32_t line) { return location("/v/site-packages/torch/a.py", line); };
    const auto einops = location("/v/site-packages/einops/e.py", 1);
    add({torch(1), location("/p/m.py", 5), torch(2), einops, location("/p/m.py", 9)});
    add({location("/p/m.py", 5), torch(3), location("/p/m.py", 9)});
    const auto tree = report::build_stack_tree(table, 0, 2, {}, Folding::kPassedOver);
    REQUIRE(tree.nodes.size() == 4);
    const report::FoldedFrames& between = tree.nodes[2].folded;
    CHECK(between.least == 1);
    CHECK(between.most == 2);
    CHECK(between.packages == std::set<std::string>{"einops", "torch"});
    CHECK(tree.nodes[2].bytes == 20);
    CHECK(!tree.nodes[3].frame.has_value());
    CHECK(tree.nodes[3].folded.most == 1);
    CHECK(tree.nodes[3].bytes == 10);
}

TEST_CASE("a stack as deep as Python allows makes a tree", "[report][tree]") {
    report::Table table;
    report::TableRow row;
    row.labels.resize(1);
    for (uint32_t line = 1; line <= 100'000; ++line) {
        row.labels[0].frames.push_back(location("/p/deep.py", line));
    }
    row.bytes = 7;
    table.rows.push_back(row);
    const auto tree = report::build_stack_tree(table, 0, 1, {}, Folding::kNone);
    CHECK(tree.nodes.size() == 100'001);
    CHECK(tree.nodes.back().bytes == 7);
}

TEST_CASE("no text controls the terminal or changes the direction of later text", "[report]") {
    CHECK(report::printable("a\x1b[31m\n\x7f") == "a?[31m??");
    // U+009B, U+202E, U+2066, U+2028, U+200F, U+E0041.
    CHECK(report::printable("\xC2\x9B|\xE2\x80\xAE|\xE2\x81\xA6|\xE2\x80\xA8|\xE2\x80\x8F|"
                            "\xF3\xA0\x81\x81") == "?|?|?|?|?|?");
    // Text that people write stays: accents, wide characters, joined ones, other scripts.
    const std::string kept =
        "\xC3\xA9 \xE8\xA8\x98 \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC "
        "\xD7\xA9";
    CHECK(report::printable(kept) == kept);
    // Invalid UTF-8 stays: the code that decodes the text replaces it.
    CHECK(report::printable("\x9B\xE2\x80|\xF0") == "\x9B\xE2\x80|\xF0");
}

}  // namespace
}  // namespace peakline::test
