// One kind of event, many times, between two markers that a counting tool looks for:
// instruction_driver KIND COUNT [frees], where the last word captures stacks of frees, too. Run
// under valgrind by tests/bench/test_instructions.py, which takes the difference of two counts:
// start-up and warm-up cancel out.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <unistd.h>

#include "allocator/capture/native_stack.h"
#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/recorder.h"

using namespace peakline;
using record::AllocEvent;
using record::Recorder;

namespace {

constexpr uint64_t kBytes = 512;

struct Kind {
    const char* name;
    int depth;
    bool captures;
    uint64_t addresses;  // that come in turn
};
constexpr Kind kKinds[] = {
    {"plain", 0, false, 64},
    {"churn", 0, false, 1 << 20},  // the same without a loop
    {"native5", 3, true, 64},
    {"native20", 18, true, 64},
    {"native60", 58, true, 64},
};

uint32_t g_context = 0;  // where nothing is captured

uint32_t context_now(Recorder& recorder, const Kind& kind) {
    if (!kind.captures) {
        return g_context;
    }
    capture::ThreadState* state = capture::thread_state(recorder.table());
    return capture::capture_context(recorder.table(), *state);
}

}  // namespace

// test_instructions.py names it: it counts the instructions of a free alone.
extern "C" [[gnu::noinline]] void free_block(Recorder& recorder, uint64_t address, bool captures) {
    capture::ThreadState* state = capture::thread_state(recorder.table());
    const uint32_t context = captures ? capture::capture_free(recorder.table(), *state) : 0;
    recorder.record_free(address, 0, Recorder::FreeKind::kCompleted, 0, context);
}

namespace {

// A pair is an allocation and its free.
[[gnu::noinline]] void pair_at(Recorder& recorder, uint64_t number, int depth, const Kind& kind) {
    if (depth > 0) {
        pair_at(recorder, number, depth - 1, kind);
        asm volatile("");  // no tail call: the frame counts
        return;
    }
    const uint64_t address = (number * 7919 % kind.addresses + 1) * 4096;
    const uint32_t context = context_now(recorder, kind);
    recorder.record_alloc(AllocEvent{address, 500, kBytes, context, 0, 0}, kBytes);
    free_block(recorder, address, kind.captures);
}

}  // namespace

int main(int argc, char** argv) {
    const Kind* kind = nullptr;
    for (const Kind& known : kKinds) {
        if (argc >= 3 && std::strcmp(argv[1], known.name) == 0) {
            kind = &known;
        }
    }
    if (kind == nullptr) {
        std::fprintf(
            stderr,
            "usage: instruction_driver plain|churn|native5|native20|native60 COUNT [frees]\n");
        return 2;
    }
    // As in any real program, the counts of libraries added and present are no longer equal to
    // other small numbers of the loader: see allocator/capture/libraries/loader_counts.h.
    dlclose(dlopen("libBrokenLocale.so.1", RTLD_NOW));
    const std::string path = "/tmp/peakline-instructions-" + std::to_string(getpid()) + ".peak";
    Recorder& recorder = Recorder::instance();
    Recorder::TraceOptions options{};
    options.path = path.c_str();
    options.exists = record::FileTarget::Exists::kReplace;
    if (!recorder.init(nullptr) || !capture::init_native_stacks() ||
        recorder.open_trace(options) != 0) {
        return 1;
    }
    capture::set_capture_options({false, true, argc > 3});
    recorder.start_tracing();
    g_context = recorder.table().intern_context(record::Context{0, 0, 0, 0, 0, 0});
    const uint64_t count = std::strtoull(argv[2], nullptr, 10);
    for (uint64_t i = 0; i < count; ++i) {
        pair_at(recorder, i, kind->depth, *kind);
    }
    unlink(path.c_str());
    _exit(0);
}
