// The modules around a module: the parts of its path, and for a recomputed part the modules around
// the call of checkpointing.
#include "report/views/calls/layers.h"

#include <string>
#include <vector>

#include "report/attribute/call_rules.h"
#include "report/replay/calls/call_replay.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

const std::string kCheckpoint = "/v/torch/utils/checkpoint.py:5:checkpoint";
const std::string kNames =
    "instance 1 Model root=Model\n instance 2 Linear root=Model path=layers.0.up\n"
    "instance 3 Linear root=Model path=layers.1.up\n instance 4 Block root=Model path=block\n"
    "instance 5 Linear root=Model path=block.up\n instance 6 Linear root=Model path=block.down\n"
    "instance 7 Guest root=Model path=guest\n";

std::string call_of(const std::string& module) {
    return "/v/torch/nn/modules/module.py:9:Module._call_impl@" + module;
}

struct Layers {
    explicit Layers(const std::string& text, report::ModuleFolding folding = {})
        : trace(kNames + "start\n" + text + "stop\n end\n") {
        report::FramePolicy policy;
        policy.modules = folding;
        report::StackLookup stacks(trace.reader.definitions(), policy);
        const report::CallRules rules = report::make_call_rules(stacks, report::CallNames::kLayers);
        report::CallRequest request;
        request.on_layer = [&](const report::LayerCall& call) {
            calls.push_back(rules.layers[call.layer] + " " + std::to_string(call.depth));
        };
        rows = report::build_layers(report::replay_calls(trace.reader, rules, request), rules);
    }
    report::LayerUse of(const std::string& name) const {
        for (const report::LayerRow& row : rows) {
            if (row.name == name) {
                return row.use;
            }
        }
        return {};
    }

    OpenTrace trace;
    std::vector<std::string> calls;
    std::vector<report::LayerRow> rows;
};

using Names = std::vector<std::string>;

const std::string kTwoItems = "alloc a 1 4 thread=1 stack=m.py:1:f;" + call_of("2") + ";" +
                              call_of("1") + "\n wait 5\n alloc b 2 8 thread=1 stack=m.py:1:f;" +
                              call_of("3") + ";" + call_of("1") + "\n free a\n";

TEST_CASE("a list that nobody calls holds what its items hold", "[report][layers]") {
    const Layers layers(kTwoItems);
    const report::LayerUse list = layers.of("layers");
    CHECK(list.peak_held_bytes == 12);
    CHECK(list.held_bytes == 8);
    CHECK(list.alloc_count == 2);
    CHECK(list.free_count == 1);
    CHECK(list.peak_allocated_bytes == 12);
    CHECK(list.ticks >= 5);
    CHECK(list.call_count == 0);
    CHECK(layers.of("layers.0").peak_held_bytes == 4);
    CHECK(layers.of("Model").peak_held_bytes == 12);
    // Followers of calls see the same calls as a hook.
    CHECK(layers.calls == Names{"layers.0.up 1", "layers.1.up 1", "Model 0"});
}

TEST_CASE("a list holds the tensors of its items", "[report][layers]") {
    const Layers layers(
        "alloc w 1 2 thread=1 stack=t.py:3:main\n tensor w parameter layers.0.up.weight "
        "instance=2\n");
    CHECK(layers.of("layers").held_bytes == 2);
    CHECK(layers.of("Model").held_bytes == 2);
    CHECK(layers.of("layers").peak_allocated_bytes == 0);
}

TEST_CASE("a module that another one calls is in the rows of both", "[report][layers]") {
    const Layers layers("alloc a 1 4 thread=1 stack=m.py:1:f;" + call_of("2") + ";" + call_of("7") +
                        ";" + call_of("1") + "\n");
    for (const char* name : {"layers", "layers.0", "layers.0.up", "guest", "Model"}) {
        CHECK(layers.of(name).held_bytes == 4);
    }
    CHECK(layers.calls == Names{"layers.0.up 2", "guest 1", "Model 0"});
}

TEST_CASE("a module within itself counts once", "[report][layers]") {
    const Layers layers("alloc a 1 4 thread=1 stack=m.py:1:f;" + call_of("4") + ";" + call_of("5") +
                        ";" + call_of("4") + "\n");
    CHECK(layers.of("block").held_bytes == 4);
    CHECK(layers.of("block").alloc_count == 1);
    CHECK(layers.of("block").call_count == 2);
}

TEST_CASE("a recomputed part belongs to the modules around its checkpoint", "[report][layers]") {
    // The node was made by block.down, which does not run.
    const std::string forward = " op=X forward=m.py:1:f;" + call_of("6") + ";" + call_of("4") +
                                ";" + kCheckpoint + ";" + call_of("7") + ";" + call_of("1");
    const Layers layers("alloc a 1 4 thread=2 stack=m.py:1:f;" + call_of("5") + ";" + call_of("4") +
                        ";" + kCheckpoint + forward + "\n");
    CHECK(layers.of("guest").held_bytes == 4);
    CHECK(layers.of("Model").held_bytes == 4);
    CHECK(layers.of("block.up").held_bytes == 4);
    CHECK(layers.of("block.down").held_bytes == 0);
    CHECK(layers.calls == Names{"block.up 1", "block 0"});
}

TEST_CASE("folded layers have the sums of their layers", "[report][layers]") {
    const Layers shallow(kTwoItems, {1, false});
    CHECK(shallow.of("layers").peak_held_bytes == 12);
    CHECK(shallow.of("layers").alloc_count == 2);
    CHECK(shallow.calls == Names{"layers 1", "Model 0"});
    const Layers repeated(kTwoItems, {0, true});
    CHECK(repeated.of("layers.*").peak_held_bytes == 12);
    CHECK(repeated.of("layers.*.up").alloc_count == 2);
}

}  // namespace
}  // namespace peakline::test
