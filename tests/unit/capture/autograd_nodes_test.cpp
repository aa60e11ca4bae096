// Which node owns what a thread allocates: nested nodes, sums between them, engines within nodes.
#include "allocator/capture/autograd_nodes.h"

#include <memory>

#include "tests/unit/catching.h"

using namespace peakline::capture;

namespace {

constexpr uint64_t kThread = 7;
constexpr uint32_t kLeafName = 1000;

// Runs on a thread of the engine; node n has name n and was made by stack 100 + n.
struct Engine {
    Engine() {
        state->is_engine_thread = true;
        begin_sequences(*state, kThread);
        for (uint32_t number = 1; number < 100; ++number) {
            remember_sequence(*state, number, 100 + number);
        }
    }
    void begin(uint32_t number) { begin_node(*state, {find_sequence(kThread, number), number}); }
    // Returns the stack it belongs to.
    uint32_t run_leaf(const void* leaf) {
        begin_node(*state, {forward_of_leaf(*state, leaf), kLeafName, true});
        const RunningNode node = owning_node(*state, false);
        CHECK(node.operator_name == kLeafName);
        end_node(*state);
        return node.forward_node;
    }
    void run(uint32_t number) {
        begin(number);
        CHECK(owner() == number);
        end_node(*state);
    }
    uint32_t owner() const {
        const RunningNode node = owning_node(*state, true);
        CHECK(node.forward_node == (node.operator_name == 0 ? 0 : 100 + node.operator_name));
        return node.operator_name;
    }
    std::unique_ptr<ThreadState> state = std::make_unique<ThreadState>();
};

}  // namespace

TEST_CASE("between two nodes the one that ended owns", "[capture]") {
    Engine engine;
    CHECK(engine.owner() == 0);
    engine.run(1);
    CHECK(engine.owner() == 1);
    engine.run(2);
    CHECK(engine.owner() == 2);
}

TEST_CASE("a node without number belongs to the line of the node before it", "[capture]") {
    Engine engine;
    engine.run(1);
    CHECK(engine.run_leaf(nullptr) == 101);
    CHECK(engine.run_leaf(nullptr) == 101);
}

TEST_CASE("between two nodes of an engine within a node theirs is the memory", "[capture]") {
    Engine engine;
    engine.begin(1);
    begin_engine(*engine.state, 0);
    CHECK(engine.owner() == 1);
    engine.run(2);
    CHECK(engine.owner() == 2);
    engine.begin(3);
    begin_engine(*engine.state, 0);
    engine.run(4);
    CHECK(engine.owner() == 4);
    end_engine(*engine.state, 0);
    CHECK(engine.owner() == 3);
    end_node(*engine.state);
    CHECK(engine.owner() == 3);
    end_engine(*engine.state, 0);
    CHECK(engine.owner() == 1);
    end_node(*engine.state);
    CHECK(engine.owner() == 1);
}

TEST_CASE("an engine outside of all nodes changes nothing", "[capture]") {
    Engine engine;
    begin_engine(*engine.state, 0);
    engine.run(1);
    end_engine(*engine.state, 0);
    CHECK(engine.owner() == 1);
    CHECK(engine.state->node_depth == 0);
}

TEST_CASE("more nested engines than there is room for keep their order", "[capture]") {
    Engine engine;
    for (uint32_t number = 1; number < 90; ++number) {
        engine.begin(number);
        begin_engine(*engine.state, 0);
    }
    for (uint32_t number = 89; number > 0; --number) {
        end_engine(*engine.state, 0);
        end_node(*engine.state);
    }
    CHECK(engine.state->node_depth == 0);
    CHECK(engine.owner() == 1);
}

TEST_CASE("a leaf has the line that was told for it, once", "[capture]") {
    Engine engine;
    engine.run(1);
    constexpr uint64_t kLeaf = 0x7F12'3456'7890;
    const auto leaf = [](uint64_t address) { return reinterpret_cast<const void*>(address); };
    report_leaf(leaf(kLeaf), 77);
    // The same place in the table, another address.
    CHECK(forward_of_leaf(*engine.state, leaf(kLeaf + 0x10000)) == 101);
    CHECK(forward_of_leaf(*engine.state, leaf(kLeaf + 0x10)) == 101);
    CHECK(forward_of_leaf(*engine.state, leaf(kLeaf)) == 77);
    CHECK(forward_of_leaf(*engine.state, leaf(kLeaf)) == 101);
    // Another thread's leaf may come before the one of the node that ended last.
    report_leaf(leaf(kLeaf), 77);
    CHECK(engine.run_leaf(leaf(kLeaf)) == 77);
    CHECK(engine.run_leaf(leaf(kLeaf + 0x40)) == 101);
    // One node has registered its leaves: now every node does, so an entry is never an old one.
    CHECK(reports_leaves(*engine.state));
}

TEST_CASE("a node made while another runs has the stack of both", "[capture]") {
    static peakline::record::StackTable table;
    REQUIRE(table.init());
    const auto push = [](uint32_t parent, uint32_t line) {
        return table.intern_python_node(parent, table.intern_python_frame(0, 0, 0, line));
    };
    const uint32_t forward = push(push(0, 1), 2);
    const uint32_t caller = push(push(0, 1), 9);
    const uint32_t again = push(push(0, 3), 4);
    const uint32_t again_below_caller = push(push(caller, 3), 4);
    const uint32_t joined = push(push(forward, 3), 4);
    auto state = std::make_unique<ThreadState>();
    CHECK(stack_of_new_node(table, *state, again) == again);
    const uint32_t outer = begin_engine(*state, caller);
    begin_node(*state, {forward, 1});
    CHECK(stack_of_new_node(table, *state, 0) == forward);
    CHECK(stack_of_new_node(table, *state, again) == joined);
    CHECK(stack_of_new_node(table, *state, again_below_caller) == joined);
    CHECK(stack_of_new_node(table, *state, again) == joined);  // from the cache
    end_node(*state);
    end_engine(*state, outer);
    CHECK(state->engine_caller == 0);
    state->is_engine_thread = true;
    CHECK(stack_of_new_node(table, *state, again) == joined);  // of the node that ended last
}
