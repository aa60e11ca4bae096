// The capture, callable from a Python program through ctypes: the tests compare its answers with
// CPython's own. Built by conftest.py together with the sources it tests.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>

#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/tables/stack_table.h"
#include "pyhook/code/code_table.h"
#include "pyhook/code/instances.h"
#include "pyhook/code/line_table.h"
#include "pyhook/frames/thread_scratch.h"
#include "pyhook/frames/walk_gate.h"
#include "pyhook/python_runtime.h"
#include "pyhook/python_stack.h"
#include "pyhook/watched_objects.h"

#define PEAKLINE_TEST_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace peakline;

record::StackTable& table() {
    static record::StackTable* const table = [] {
        auto* const fresh = new record::StackTable;
        fresh->init();
        return fresh;
    }();
    return *table;
}

// The definitions of the table so far, read through the trace writer's interface.
struct Mirror {
    std::mutex mutex;
    std::vector<std::string> strings{""};
    std::vector<record::PythonFrame> frames{{}};
    std::vector<record::StackNode> nodes{{}};
    uint32_t emitted_strings = 0;
    uint32_t emitted_frames = 0;
    uint32_t emitted_nodes = 0;
};
Mirror& mirror() {
    static auto* const mirror = new Mirror;
    return *mirror;
}

uint32_t next_varint(const unsigned char** in, const unsigned char* end) {
    uint64_t value = 0;
    *in = format::get_uv(*in, end, &value);
    return static_cast<uint32_t>(value);
}

bool read_definition(format::DefType type, const unsigned char* body, size_t length) {
    const unsigned char* const end = body + length;
    if (type == format::DefType::kString) {
        mirror().strings.emplace_back(reinterpret_cast<const char*>(body), length);
    } else if (type == format::DefType::kPythonFrame) {
        record::PythonFrame frame{};
        frame.file = next_varint(&body, end);
        frame.name = next_varint(&body, end);
        frame.qualified_name = next_varint(&body, end);
        frame.line = next_varint(&body, end);
        mirror().frames.push_back(frame);
    } else {
        record::StackNode node{};
        node.parent = next_varint(&body, end);
        node.frame = next_varint(&body, end);
        mirror().nodes.push_back(node);
    }
    return true;
}

void write_stack(uint32_t leaf, bool qualified, char* out, size_t size) {
    Mirror& all = mirror();
    const std::lock_guard<std::mutex> guard(all.mutex);
    // Nodes name frames and frames name strings: read in the opposite order of definition, so
    // that nothing read names something that came later.
    table().emit(format::DefType::kString, &all.emitted_strings, read_definition);
    table().emit(format::DefType::kPythonFrame, &all.emitted_frames, read_definition);
    table().emit(format::DefType::kPythonNode, &all.emitted_nodes, read_definition);
    std::string text;
    for (uint32_t id = leaf; id != 0; id = all.nodes[id].parent) {
        const record::PythonFrame& frame = all.frames[all.nodes[id].frame];
        text += all.strings[frame.file] + ":" + std::to_string(frame.line) + ":" +
                all.strings[qualified ? frame.qualified_name : frame.name] + "\n";
    }
    snprintf(out, size, "%s", text.c_str());
}

// As at an allocation.
uint32_t capture_here(uint32_t* flags, uint32_t* number) {
    const uint32_t predicted = pyhook::predicted_python_stack(*number);
    return predicted != capture::kOtherStack ? predicted
                                             : pyhook::capture_python_stack(table(), flags, number);
}

int capture_to(char* out, size_t size, bool qualified) {
    uint32_t flags = 0;
    uint32_t number = 0;
    const uint32_t leaf = capture_here(&flags, &number);
    write_stack(leaf, qualified, out, size);
    return static_cast<int>(flags);
}

void** code_dealloc_slot() {
    auto* const type = static_cast<char*>(dlsym(RTLD_DEFAULT, "PyCode_Type"));
    return reinterpret_cast<void**>(type + pyhook::kTypeDealloc);
}
void* g_code_dealloc_before_attach = nullptr;

const char* text_of(const pyhook::AttachResult& result) {
    switch (result.support) {
        case pyhook::PythonSupport::kOn:
            return "on";
        case pyhook::PythonSupport::kNone:
            return "none";
        case pyhook::PythonSupport::kWaiting:
            return "waiting";
        case pyhook::PythonSupport::kOff:
            break;
    }
    return result.reason;
}

}  // namespace

// "on", "none", or why it is off. Call with the GIL (ctypes.PyDLL).
PEAKLINE_TEST_EXPORT const char* peakline_test_attach() {
    g_code_dealloc_before_attach = *code_dealloc_slot();
    return text_of(pyhook::attach(nullptr));
}

namespace {
void attach_again() {
    pyhook::attach(nullptr);
}
}  // namespace

// As where CUDA is used first: call it without the GIL (ctypes.CDLL), or on a thread that never had
// one. The result comes later: ask peakline_test_attach().
PEAKLINE_TEST_EXPORT const char* peakline_test_attach_without_gil() {
    g_code_dealloc_before_attach = *code_dealloc_slot();
    return text_of(pyhook::attach(attach_again));
}
PEAKLINE_TEST_EXPORT const char* peakline_test_attach_on_new_thread() {
    const char* result = "";
    std::thread([&result] { result = peakline_test_attach_without_gil(); }).join();
    return result;
}

// Writes "file:line:name\n" per frame, leaf first; returns format::ContextFlags.
PEAKLINE_TEST_EXPORT int peakline_test_capture(char* out, size_t size) {
    return capture_to(out, size, false);
}
PEAKLINE_TEST_EXPORT int peakline_test_capture_qualified(char* out, size_t size) {
    return capture_to(out, size, true);
}

// The capture alone, without reading it back.
PEAKLINE_TEST_EXPORT uint32_t peakline_test_capture_id() {
    uint32_t flags = 0;
    static thread_local uint32_t number;
    return capture_here(&flags, &number);
}

PEAKLINE_TEST_EXPORT void peakline_test_watch_methods(const uint64_t* codes, size_t count) {
    pyhook::watch_methods(codes, count);
}
PEAKLINE_TEST_EXPORT uint64_t peakline_test_own_instance() {
    return pyhook::own_instance();
}
PEAKLINE_TEST_EXPORT void peakline_test_instance_died(uint64_t address) {
    pyhook::g_instances.died(address);
}

// Objects that are known again until they die.
PEAKLINE_TEST_EXPORT int peakline_test_learn_finalizer(uint64_t kind, uint64_t finalizer) {
    return pyhook::g_watched_objects.learn_finalizer(kind, finalizer) ? 1 : 0;
}
PEAKLINE_TEST_EXPORT uint64_t peakline_test_watch(uint64_t object) {
    return pyhook::g_watched_objects.watch(object);
}
PEAKLINE_TEST_EXPORT int peakline_test_is_alive(uint64_t object, uint64_t number) {
    return pyhook::g_watched_objects.is_alive(object, number) ? 1 : 0;
}

// Whether the state of this thread is read from its slot, and is right there.
PEAKLINE_TEST_EXPORT int peakline_test_reads_slot() {
    const ptrdiff_t slot = pyhook::g_walk_gate.thread_slot.load();
    return slot != 0 && pyhook::read_thread_slot(slot) == pyhook::g_walk_gate.getter.load()();
}

// The number of this thread's pause, see Note [Without the GIL].
PEAKLINE_TEST_EXPORT uint64_t peakline_test_pause() {
    return capture::g_python_pause;
}
PEAKLINE_TEST_EXPORT void peakline_test_pauses_around(void (*callback)(), uint64_t* numbers) {
    numbers[0] = peakline_test_pause();
    callback();
    numbers[1] = peakline_test_pause();
}
PEAKLINE_TEST_EXPORT uint64_t peakline_test_pause_of_new_thread() {
    uint64_t number = 0;
    std::thread([&number] { number = peakline_test_pause(); }).join();
    return number;
}

PEAKLINE_TEST_EXPORT void peakline_test_capture_for_ns(uint64_t duration_ns) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::nanoseconds(duration_ns)) {
        for (int i = 0; i < 100; ++i) {
            peakline_test_capture_id();
        }
    }
}

// Takes the watch on dying code away, to show that the tests notice.
PEAKLINE_TEST_EXPORT void peakline_test_stop_watching_code() {
    *code_dealloc_slot() = g_code_dealloc_before_attach;
}

PEAKLINE_TEST_EXPORT uint64_t peakline_test_epoch() {
    return pyhook::g_code_table.epoch();
}

PEAKLINE_TEST_EXPORT void peakline_test_forget() {
    pyhook::forget_python_stacks();
}

PEAKLINE_TEST_EXPORT int peakline_test_watch_fork() {
    return pthread_atfork(
        [] {
            mirror().mutex.lock();
            table().prepare_fork();
            pyhook::prepare_fork();
        },
        [] {
            pyhook::parent_after_fork();
            table().parent_after_fork();
            mirror().mutex.unlock();
        },
        [] {
            pyhook::child_after_fork();
            table().child_after_fork();
            mirror().mutex.unlock();
        });
}

// How many of the code units get another line than expected (0: none). Offsets outside the code
// must have no line.
PEAKLINE_TEST_EXPORT long peakline_test_wrong_lines(const uint8_t* bytes,
                                                    size_t length,
                                                    int first_line,
                                                    int is_pairs,
                                                    const uint32_t* expected,
                                                    size_t expected_count) {
    const pyhook::LineTable line_table = {bytes, length, first_line};
    const auto line_of = is_pairs != 0 ? pyhook::line_of_pairs : pyhook::line_of_locations;
    long wrong = 0;
    for (size_t i = 0; i < expected_count; ++i) {
        wrong += line_of(line_table, static_cast<int64_t>(2 * i)) != expected[i] ? 1 : 0;
    }
    wrong += line_of(line_table, static_cast<int64_t>(2 * expected_count)) != 0 ? 1 : 0;
    wrong += line_of(line_table, -2) != 0 ? 1 : 0;
    return wrong;
}

// Best of seven, ns per call. what: 0 thread state, 1 walk, 2 whole capture.
PEAKLINE_TEST_EXPORT double peakline_test_bench(int what, long iterations) {
    pyhook::ThreadScratch* const scratch = pyhook::thread_scratch();
    const auto getter = pyhook::g_walk_gate.getter.load();
    double best_ns = 1e18;
    uint64_t sum = 0;
    for (int repeat = 0; repeat < 7; ++repeat) {
        const auto start = std::chrono::steady_clock::now();
        for (long i = 0; i < iterations; ++i) {
            bool truncated = false;
            if (what == 0) {
                sum += reinterpret_cast<uint64_t>(getter());
            } else if (what == 1) {
                sum += pyhook::walk_frames(scratch->frames, pyhook::kMaxFrames, &truncated);
            } else {
                sum += peakline_test_capture_id();
            }
            asm volatile("" : : "r"(sum) : "memory");
        }
        const std::chrono::duration<double, std::nano> spent =
            std::chrono::steady_clock::now() - start;
        best_ns = std::min(best_ns, spent.count() / static_cast<double>(iterations));
    }
    return best_ns;
}
