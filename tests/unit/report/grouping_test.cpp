// The keys that are not frames: phases, threads, streams, devices, operators.
#include <utility>

#include "report/attribute/names/module_names.h"
#include "report/attribute/operators/operator_names.h"
#include "report/attribute/operators/operator_search.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

// The keys of the rows, in order of the table.
std::vector<std::string> keys(const OpenTrace& trace,
                              const std::string& by,
                              const std::string& device = "") {
    report::SelectionText selection;
    selection.by = by;
    selection.device = device;
    std::vector<std::string> found;
    std::istringstream lines(trace.rows(selection));
    for (std::string line; std::getline(lines, line);) {
        const size_t count_at = line.rfind("  ");
        if (count_at != std::string::npos) {
            found.push_back(line.substr(count_at + 2));
        }
    }
    return found;
}

// The phase of one allocation with this stack.
std::string phase_of(const std::string& words) {
    return keys(OpenTrace("start\n alloc a 1 100 " + words + "\n stop\n end\n"), "phase").at(0);
}

constexpr const char* kModule = "/v/torch/nn/modules/module.py:1798:Module._call_impl";
constexpr const char* kTrain = "/p/train.py:9:main";

std::string stack(std::initializer_list<const char*> frames) {
    std::string text = "stack=";
    for (const char* frame : frames) {
        text += std::string(text.back() == '=' ? "" : ";") + frame;
    }
    return text;
}

TEST_CASE("a module that is called is forward", "[report][phase]") {
    CHECK(phase_of(stack({"/v/torch/nn/functional.py:3:relu", kModule, kTrain})) == "forward");
    CHECK(phase_of(stack({"/p/a.py:3:f", "/v/torch/nn/modules/module.py:1:Module.__call__"})) ==
          "forward");
    CHECK(phase_of(stack({"/v/torch/nn/functional.py:3:relu", kTrain})) == "other");
    CHECK(phase_of("thread=0") == "other");
}

TEST_CASE("code run by the autograd engine is backward", "[report][phase]") {
    CHECK(phase_of("forward=/p/model.py:4:forward op=MmBackward0") == "backward");
    CHECK(phase_of("op=AccumulateGrad") == "backward");
    CHECK(phase_of(stack({"/p/function.py:7:Scale.backward"}) + " op=ScaleBackward") == "backward");
    CHECK(phase_of(stack({"/v/torch/autograd/__init__.py:200:_make_grads", kTrain})) == "backward");
}

TEST_CASE("a forward pass run again for the backward is recomputation", "[report][phase]") {
    const char* checkpoint = "/v/torch/utils/checkpoint.py:1100:unpack_hook";
    CHECK(phase_of(stack({"/p/m.py:3:forward", kModule, checkpoint}) + " op=MmBackward0") ==
          "recomputation");
    CHECK(phase_of(stack({"/p/m.py:3:forward", kModule, checkpoint, kTrain})) == "forward");
    // The engine called again from within the recomputation.
    CHECK(phase_of(stack({"/v/torch/autograd/graph.py:800:_engine_run_backward", checkpoint}) +
                   " op=CheckpointFunctionBackward") == "backward");
}

TEST_CASE("a step of any optimizer is optimizer", "[report][phase]") {
    CHECK(phase_of(stack({"/v/torch/optim/adamw.py:1:AdamW._init_group", kTrain})) == "optimizer");
    CHECK(phase_of(stack({"/p/lion.py:5:Lion.step",
                          "/v/torch/optim/optimizer.py:516:Optimizer.profile_hook_step.wrapper",
                          kTrain})) == "optimizer");
    // A closure that step() calls runs the model.
    CHECK(phase_of(stack({kModule, "/p/train.py:3:closure", "/v/torch/optim/lbfgs.py:3:step"})) ==
          "forward");
    CHECK(phase_of(stack({"/p/train.py:4:closure", "/v/torch/optim/lbfgs.py:3:step"})) == "other");
    CHECK(phase_of(stack({"/p/train.py:4:closure", kTrain})) == "other");
}

TEST_CASE("loaders are data", "[report][phase]") {
    CHECK(phase_of(stack({"/v/torch/utils/data/_utils/pin_memory.py:70:pin_memory", kTrain})) ==
          "data");
}

TEST_CASE("making or moving a model is initialisation", "[report][phase]") {
    CHECK(phase_of(stack({"/v/torch/nn/init.py:10:normal_", "/p/m.py:3:reset", kTrain})) ==
          "initialisation");
    CHECK(phase_of(stack({"/v/torch/nn/modules/linear.py:100:Linear.__init__", kTrain})) ==
          "initialisation");
    CHECK(phase_of(stack({"/v/torch/nn/modules/module.py:1300:Module.convert",
                          "/v/torch/nn/modules/module.py:900:Module._apply",
                          kTrain})) == "initialisation");
    CHECK(phase_of(stack({"/p/model.py:5:Model.__init__", kTrain})) == "initialisation");
    // A cache that a forward makes is the forward's.
    CHECK(phase_of(stack({"/p/cache.py:5:Cache.__init__", kModule, kTrain})) == "forward");
}

TEST_CASE("a block without a recorded stack has a row that states this", "[report][phase]") {
    CHECK(phase_of("untraced") == "untraced");
    TraceBuilder builder;
    builder.mark(format::MarkKind::kTracingStarted);
    builder.alloc_inline(fields({0, 0, 0, 8, 0}), 0x1000);
    builder.mark(format::MarkKind::kProcessEnd);
    CHECK(keys(OpenTrace(builder.finish()), "phase").at(0) == "stack not recorded");
}

TEST_CASE("rows can be threads, streams and devices", "[report]") {
    TraceBuilder builder;
    const uint32_t thread =
        builder.define(format::DefType::kThread, fields({4711, builder.define_string("pt_main")}));
    builder.define(format::DefType::kStream, fields({0x5500}));
    builder.define(format::DefType::kContext, fields({thread, 0, 0, 0, 0, 0}));
    builder.define(format::DefType::kContext, fields({0, 0, 0, 0, 0, 0}));
    builder.define(format::DefType::kContext, fields({0, 0, 0, 0, 0, format::kUntraced}));
    builder.mark(format::MarkKind::kTracingStarted);
    builder.alloc_inline(fields({1, 0, 0, 800, 0}), 0x1000);
    builder.alloc_inline(fields({2, 0, 1, 400, 0}), 0x2000);
    builder.alloc_inline(fields({3, 1, 0, 200, 0}), 0x3000);
    builder.alloc_inline(fields({1, 1, 9, 100, 0}), 0x4000);
    builder.count_gpu_bytes(1500);
    builder.mark(format::MarkKind::kProcessEnd);
    const OpenTrace trace(builder.finish());
    using Keys = std::vector<std::string>;
    CHECK(keys(trace, "thread", "all") ==
          Keys{"thread 4711 (pt_main)", "unknown thread", "untraced"});
    CHECK(keys(trace, "stream", "all") == Keys{"device 0, default stream",
                                               "device 0, stream 0x5500",
                                               "device 1, default stream",
                                               "device 1, unknown stream"});
    CHECK(keys(trace, "device", "all") == Keys{"device 0", "device 1"});
}

TEST_CASE("rows by stream are refused for a summary", "[report]") {
    TraceBuilder builder;
    builder.define(format::DefType::kContext, fields({0, 0, 0, 0, 0, 0}));
    builder.summary(format::SummaryType::kView, fields({0, 0, 700, 5, 200, 900, 4, 2}));
    builder.summary(format::SummaryType::kPeakGroup, fields({1, 300, 350, 2}));
    const OpenTrace trace(builder.finish());
    CHECK_THROWS_WITH(keys(trace, "stream"), Catch::Contains("does not know streams"));
    CHECK(keys(trace, "device") == std::vector<std::string>{"device 0"});
}

TEST_CASE("without an operator the row is the node, the line or the reason", "[report][op]") {
    const OpenTrace trace(
        "start\n alloc a 1 800 op=AddmmBackward0\n alloc b 2 400 stack=m.py:5:f\n"
        "alloc c 3 200 untraced\n alloc d 4 100\n stop\n end\n");
    CHECK(keys(trace, "op") == std::vector<std::string>{"AddmmBackward0",
                                                        "no operator: m.py:5 (f)",
                                                        "untraced",
                                                        "no operator: stack not recorded"});
}

TEST_CASE("memory allocated by a part of torch's Python has the part's name", "[report][op]") {
    const OpenTrace trace(
        "start\n alloc a 1 1600 stack=/v/torch/distributed/fsdp/_flat_param.py:5:unshard;m.py:1:f\n"
        "alloc b 2 800 stack=/v/torch/distributed/fsdp/x.py:5:_reduce_grad\n"
        "alloc c 3 400 stack=/t/torchinductor_me/ab/cab.py:57:call;m.py:1:f\n"
        "alloc d 4 200 stack=m.py:9:twice;/v/torch/_library/custom_ops.py:4:backend_impl\n"
        "alloc e 5 100 stack=/v/torch/nn/utils/x.py:9:hook op=AccumulateGrad\n"
        "stop\n end\n");
    CHECK(keys(trace, "op") == std::vector<std::string>{"FSDP all-gather",
                                                        "FSDP reduce-scatter",
                                                        "inductor buffer: cab.py:57 (call)",
                                                        "custom operator twice",
                                                        "AccumulateGrad"});
}

TEST_CASE("inductor's files are known by their names in any folder", "[report][op]") {
    const std::string kernel = "c" + std::string(51, 'b') + ".py";
    const OpenTrace trace("start\n alloc a 1 800 stack=/scratch/7/bb/" + kernel +
                          ":57:call;m.py:1:f\n alloc b 2 400 stack=/scratch/7/bb/c" + kernel +
                          ":57:call;m.py:2:g\n stop\n end\n");
    CHECK(keys(trace, "op") ==
          std::vector<std::string>{"inductor buffer: " + kernel + ":57 (call)",
                                   "no operator: /scratch/7/bb/c" + kernel + ":57 (call)"});
}

TEST_CASE("an operator called through torch.ops has the name from its frame", "[report][op]") {
    const OpenTrace trace(
        "instance 1 OpOverload path=mine::scaled\n instance 2 OpOverload path=aten::empty.names\n"
        "instance 3 Layer root=Model path=h.0\n instance 4 OpOverload\n start\n"
        "alloc a 1 3200 stack=m.py:9:f;/v/torch/_library/custom_ops.py:4:wrapped_fn;"
        "/v/torch/_ops.py:9:OpOverload.__call__@1;t.py:2:g\n"
        "alloc b 2 1600 stack=/v/torch/_ops.py:9:OpOverload.__call__@2;m.py:3:f\n"
        "alloc c 3 800 stack=m.py:9:f;/v/torch/_ops.py:9:OpOverload.__call__@1;/v/l.py:1:M.call@3\n"
        "alloc d 4 400 stack=m.py:9:late;/v/torch/_ops.py:9:OpOverload.__call__@4;m.py:3:f\n"
        // An inner operator that C++ called is not the outer one.
        "alloc e 5 200 "
        "stack=m.py:9:inner;/v/torch/_library/custom_ops.py:4:wrapped_fn;m.py:4:outer;"
        "/v/torch/_ops.py:9:OpOverload.__call__@1\n stop\n end\n");
    CHECK(keys(trace, "op") == std::vector<std::string>{"mine::scaled",
                                                        "no operator: m.py:3 (f)",
                                                        "custom operator late",
                                                        "custom operator inner"});
    CHECK(keys(trace, "module") == std::vector<std::string>{"outside of modules", "h.0"});
}

TEST_CASE("Triton's own memory is separate from the program's", "[report][op]") {
    const OpenTrace trace(
        "start\n alloc a 1 800 "
        "stack=/v/triton/backends/nvidia/driver.py:5:get_empty_cache_for_benchmark"
        ";/v/triton/testing.py:1:do_bench;m.py:1:f\n"
        "alloc b 2 400 stack=m.py:7:alloc;/v/triton/backends/nvidia/driver.py:5:allocate_scratch;"
        "m.py:1:f\n alloc c 3 200 stack=m.py:8:f;/v/triton/runtime/jit.py:5:run\n stop\n end\n");
    CHECK(keys(trace, "op") == std::vector<std::string>{"Triton autotuning",
                                                        "Triton scratch",
                                                        "no operator: m.py:8 (f)"});
}

TEST_CASE("mere allocations are separate from operators that compute", "[report][op]") {
    using report::is_mere_allocation;
    for (const char* name : {"aten::empty.memory_format", "aten::empty_strided", "aten::resize_"}) {
        CHECK(is_mere_allocation(name));
    }
    for (const char* name : {"aten::mm", "aten::zeros", "aten::clone", "aten::", ""}) {
        CHECK(!is_mere_allocation(name));
    }
}

// Two models of one class, a wrapped layer list, and blocks named by the objects.
constexpr const char* kModels =
    "instance 1 Model root=Model\n instance 2 Layer root=Model path=h.0\n"
    "instance 3 Layer root=Model path=h.1\n instance 4 Linear root=Model path=h.1.up\n"
    "instance 5 Late\n start\n"
    "alloc a 1 12800 "
    "stack=f.py:1:linear;l.py:3:L.forward;m.py:1:M.call@4;l.py:2:f;m.py:1:M.call@3\n"
    "alloc b 2 6400 stack=f.py:1:linear;m.py:1:M.call@2;m.py:1:M.call@1\n"
    "alloc c 3 3200 forward=f.py:1:linear;m.py:1:M.call@2 op=MmBackward0\n"
    "alloc d 4 1600 stack=m.py:1:M.call@5\n"
    "alloc e 5 800 stack=train.py:1:main\n"
    "alloc f 6 400 untraced\n tensor f parameter h.1.up.weight instance=4\n"
    "alloc g 7 200 stack=train.py:1:main\n tensor g state h.0.w detail=SGD.momentum instance=2\n"
    "alloc h 8 100 stack=m.py:1:M.call@1\n stop\n end\n";

TEST_CASE("rows can be module instances", "[report][module]") {
    CHECK(
        keys(OpenTrace(kModels), "module") ==
        std::vector<std::string>{"h.1.up", "h.0", "Late (unnamed)", "outside of modules", "Model"});
    CHECK(keys(OpenTrace("instance 6 Other root=Other#2 path=x\n" + std::string(kModels)),
               "module") ==
          std::vector<std::string>{
              "Model.h.1.up", "Model.h.0", "Late (unnamed)", "outside of modules", "Model"});
}

TEST_CASE("paths of modules fold", "[report][module]") {
    using report::fold_path;
    CHECK(fold_path("a.h.3.mlp.c_fc", {}) == "a.h.3.mlp.c_fc");
    CHECK(fold_path("a.h.3.mlp.c_fc", {0, true}) == "a.h.*.mlp.c_fc");
    CHECK(fold_path("a.h.3.mlp.c_fc", {3, true}) == "a.h.*");
    CHECK(fold_path("a.h.3.mlp.c_fc", {9, false}) == "a.h.3.mlp.c_fc");
    CHECK(fold_path("layer3.0", {0, true}) == "layer3.*");
    CHECK(fold_path("", {2, true}).empty());
}

TEST_CASE("rows can be tensors", "[report][module]") {
    CHECK(keys(OpenTrace(kModels), "tensor") ==
          std::vector<std::string>{"other (activations, inputs, temporary)",
                                   "parameter h.1.up.weight",
                                   "SGD.momentum of h.0.w"});
}

TEST_CASE("operators have the names of torch's schemas", "[report][op]") {
    using report::operator_of_symbol;
    CHECK(operator_of_symbol("at::_ops::add__Tensor::call(at::Tensor&, at::Tensor const&)") ==
          "aten::add_.Tensor");
    CHECK(operator_of_symbol("at::_ops::empty_memory_format::redispatch(c10::DispatchKeySet)") ==
          "aten::empty.memory_format");
    CHECK(operator_of_symbol("at::_ops::mm::call(at::Tensor const&)") == "aten::mm");
    CHECK(operator_of_symbol("at::_ops::_foreach_add_Scalar::call(x)") ==
          "aten::_foreach_add.Scalar");
    CHECK(operator_of_symbol("at::_ops::sum_dim_IntList::call(x)") == "aten::sum.dim_IntList");
    CHECK(operator_of_symbol("at::_ops::sparse_dim::call(x)") == "aten::sparse_dim");
    CHECK(operator_of_symbol("at::_ops::to_device::call(x)") == "aten::to.device");
    CHECK(operator_of_symbol("at::_ops::add__Tensor::schema(x)").empty());
    CHECK(operator_of_symbol("at::_ops::").empty());
    CHECK(operator_of_symbol("at::_ops::::call(").empty());
    CHECK(operator_of_symbol("at::native::empty_cuda(x)").empty());
    CHECK(report::schema_name("") == "aten::");
    CHECK(report::schema_name("_") == "aten::_");
}

}  // namespace
}  // namespace peakline::test
