// Drives the recorder alone (no torch) with a training-like stream: in every step a forward pass
// through modules, a backward pass, a step of the optimizer, with their stacks and scopes. Writes
// the trace that bench_reader.py reads: recorder_bench TRACE EVENTS. Prints nanoseconds and bytes
// per event.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "allocator/record/recorder.h"

using namespace peakline;

namespace {

constexpr uint32_t kLayers = 100;
constexpr uint32_t kLinesOfLayer = 2;
constexpr size_t kLiveBlocks = 3000;
constexpr size_t kForwardEnd = kLiveBlocks * 6 / 10;
constexpr size_t kBackwardEnd = kLiveBlocks * 9 / 10;
constexpr char kEngineScope[] = "torch::autograd::Engine::execute";
constexpr char kOptimizerScope[] = "Optimizer.step#AdamW.step";

struct Shape {
    uint32_t context;
    uint64_t requested_bytes;
};

uint32_t string_of(record::StackTable& table, const std::string& text) {
    return table.intern_string(text.data(), text.size());
}

uint32_t node_of(record::StackTable& table,
                 uint32_t parent,
                 const char* file,
                 const char* function,
                 uint32_t line,
                 uint32_t instance = 0) {
    const uint32_t name = string_of(table, function);
    return table.intern_python_node(
        parent, table.intern_python_frame(string_of(table, file), name, name, line, instance));
}

// The lines that allocate: two in each layer of a model, and those of its optimizer.
struct Program {
    uint32_t thread;
    uint32_t engine_thread;
    std::vector<uint32_t> forward;
    uint32_t optimizer;
    uint32_t backward_name;
};

Program make_program(record::StackTable& table) {
    constexpr char kModuleFile[] = "/site-packages/torch/nn/modules/module.py";
    Program program{};
    program.thread = table.add_thread(1, "python", 6);
    program.engine_thread = table.add_thread(2, "pt_autograd_0", 13);
    program.backward_name = string_of(table, "MmBackward0");
    const uint32_t root_class = string_of(table, "Model");
    const uint32_t main_node = node_of(table, 0, "/train.py", "main", 10);
    table.report_instance({1, root_class, root_class, 0});
    const uint32_t model = node_of(table, main_node, kModuleFile, "_call_impl", 1, 1);
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
        const std::string path = "layers." + std::to_string(layer);
        table.report_instance(
            {layer + 2, string_of(table, "Layer"), root_class, string_of(table, path)});
        const uint32_t call = node_of(table, model, kModuleFile, "_call_impl", 1, layer + 2);
        for (uint32_t line = 0; line < kLinesOfLayer; ++line) {
            program.forward.push_back(node_of(table, call, "/model.py", "forward", line + 1));
        }
    }
    program.optimizer = node_of(table, main_node, "/site-packages/torch/optim/adamw.py", "step", 5);
    return program;
}

// A step asks for the same shapes in the same order, as a training loop does.
std::vector<Shape> make_step(record::StackTable& table, const Program& program) {
    std::mt19937_64 random(1);
    std::vector<Shape> step;
    for (size_t i = 0; i < kLiveBlocks; ++i) {
        record::Context context{program.thread, program.optimizer, 0, 0, 0, 0};
        if (i < kForwardEnd) {
            context.python_node = program.forward[i * program.forward.size() / kForwardEnd];
        } else if (i < kBackwardEnd) {
            const size_t back = (kBackwardEnd - 1 - i) * program.forward.size();
            context = record::Context{program.engine_thread,
                                      0,
                                      0,
                                      program.forward[back / (kBackwardEnd - kForwardEnd)],
                                      program.backward_name,
                                      0};
        }
        step.push_back(Shape{table.intern_context(context), (random() % 64 + 1) * 3000});
    }
    return step;
}

void run_step(record::Recorder& recorder, const Program& program, const std::vector<Shape>& step) {
    using format::ScopeAction;
    const uint32_t engine = string_of(recorder.table(), kEngineScope);
    const uint32_t optimizer = string_of(recorder.table(), kOptimizerScope);
    for (size_t i = 0; i < step.size(); ++i) {
        if (i == kForwardEnd) {
            recorder.record_scope(ScopeAction::kBegin, program.thread, engine);
        } else if (i == kBackwardEnd) {
            recorder.record_scope(ScopeAction::kEnd, program.thread, engine);
            recorder.record_scope(ScopeAction::kBegin, program.thread, optimizer);
        }
        const uint64_t address = 0x700000000000 + i * 262144;
        recorder.record_free(
            address, 0, record::Recorder::FreeKind::kCompleted, record::kUnknownTotal);
        recorder.record_alloc(record::AllocEvent{address,
                                                 step[i].requested_bytes,
                                                 (step[i].requested_bytes + 511) / 512 * 512,
                                                 step[i].context,
                                                 0,
                                                 0},
                              record::kUnknownTotal);
    }
    recorder.record_scope(ScopeAction::kEnd, program.thread, optimizer);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: recorder_bench TRACE EVENTS\n");
        return 2;
    }
    record::Recorder& recorder = record::Recorder::instance();
    record::Recorder::TraceOptions options{};
    options.path = argv[1];
    options.exists = record::FileTarget::Exists::kReplace;
    if (!recorder.init(nullptr) || recorder.open_trace(options) != 0) {
        std::fprintf(stderr, "cannot record to %s\n", argv[1]);
        return 1;
    }
    recorder.start_tracing();
    const Program program = make_program(recorder.table());
    const std::vector<Shape> step = make_step(recorder.table(), program);
    const auto events = std::strtoull(argv[2], nullptr, 10);
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t done = 0; done < events; done += 2 * step.size()) {
        run_step(recorder, program, step);
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    const record::RecorderCounters counters = recorder.counters();
    recorder.close_trace();
    const auto recorded = static_cast<double>(counters.trace_events);
    std::printf("recorder alone: %.1f ns and %.2f bytes per event\n",
                spent.count() / recorded,
                static_cast<double>(counters.trace_bytes) / recorded);
    return 0;
}
