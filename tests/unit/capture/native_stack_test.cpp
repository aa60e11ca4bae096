// capture_native_stack as a whole: one node for one stack over all its ways, deep stacks,
// libraries that change places, signals.
#include "allocator/capture/native_stack.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/time.h>
#include <unwind.h>

#include "call_shapes.h"
#include "tests/unit/catching.h"

using namespace peakline;
using namespace peakline::capture;
using call_shapes::Frame;

namespace {

record::StackTable& table() {
    static record::StackTable one;
    static const bool ready = one.init() && init_native_stacks();
    REQUIRE(ready);
    return one;
}

struct Captured {
    uint32_t node = 0;
    uint32_t flags = 0;
};

// Never inlined: its return address is in every stack, whoever calls it.
[[gnu::noinline]] Captured capture_here() {
    Captured captured;
    static thread_local uint32_t number;
    captured.node = capture_native_stack(table(), *thread_state(table()), &captured.flags, &number);
    return captured;
}

using Addresses = std::vector<uint64_t>;

struct Seen {
    std::map<Addresses, uint32_t> nodes;
    std::map<uint32_t, Addresses> stacks;
    long captures = 0;
    long wrong = 0;
};

[[gnu::noinline]] void capture_and_compare(void* argument) {
    auto& seen = *static_cast<Seen*>(argument);
    const Captured captured = capture_here();
    std::vector<Frame> frames;
    call_shapes::step_by_libunwind(reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + 16,
                                   frames);
    Addresses addresses;
    for (const Frame& frame : frames) {
        addresses.push_back(frame.address);
    }
    ++seen.captures;
    if (captured.node == 0 || captured.flags != 0 ||
        seen.nodes.emplace(addresses, captured.node).first->second != captured.node ||
        seen.stacks.emplace(captured.node, addresses).first->second != addresses) {
        ++seen.wrong;
    }
}

[[gnu::noinline, gnu::noclone]] int recurse(int depth, Captured& captured) {
    if (depth == 0) {
        captured = capture_here();
        return 0;
    }
    const int result = recurse(depth - 1, captured) + 1;
    asm volatile("" : : : "memory");
    return result;
}

}  // namespace

TEST_CASE("one native stack has one node, two have two", "[capture]") {
    table();
    static Seen seen[3];
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([t] {
            std::mt19937 random(t);
            std::vector<std::vector<uint8_t>> programs(60);
            for (std::vector<uint8_t>& program : programs) {
                program.resize(1 + random() % 12);
                for (uint8_t& shape : program) {
                    shape = static_cast<uint8_t>(random());
                }
            }
            for (int i = 0; i < 4000; ++i) {
                const std::vector<uint8_t>& program = programs[random() % programs.size()];
                call_shapes::call_through(
                    program.data(), program.size(), capture_and_compare, &seen[t]);
            }
            CHECK(native_thread()->counts.memo_hits > 3000);
            CHECK(native_thread()->counts.fallbacks == 0);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const Seen& one : seen) {
        CHECK(one.captures == 4000);
        CHECK(one.wrong == 0);
    }
}

TEST_CASE("a stack deeper than the limit is cut and says so", "[capture]") {
    Captured shallow;
    recurse(20, shallow);
    CHECK(shallow.node != 0);
    CHECK(shallow.flags == 0);
    Captured deep;
    recurse(2000, deep);
    CHECK(deep.node != 0);
    CHECK(deep.flags == format::kStackTruncated);
    Captured deeper;
    recurse(3000, deeper);
    CHECK(deeper.node == deep.node);
}

TEST_CASE("a reused thread block gives right stacks on a smaller stack", "[capture]") {
    static Seen seen;
    const uint8_t program[] = {3, 4, 6, 8, 13, 14};
    for (int i = 0; i < 20; ++i) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, i % 2 == 0 ? size_t{8} << 20U : size_t{256} << 10U);
        pthread_t thread{};
        const auto body = [](void* argument) -> void* {
            for (int k = 0; k < 5; ++k) {
                call_shapes::call_through(static_cast<const uint8_t*>(argument),
                                          sizeof program,
                                          capture_and_compare,
                                          &seen);
            }
            return nullptr;
        };
        REQUIRE(pthread_create(&thread, &attributes, body, const_cast<uint8_t*>(program)) == 0);
        pthread_join(thread, nullptr);
        pthread_attr_destroy(&attributes);
    }
    CHECK(seen.captures == 100);
    CHECK(seen.wrong == 0);
}

namespace {

struct AtOnce {
    WalkResult result = WalkResult::kUnknown;
    Addresses walked;
    Addresses expected;  // libgcc's: libunwind keeps its knowledge of unloaded code
    Captured captured;
};

// By name from libgcc: linking libunwind replaces both functions with its own.
void* from_libgcc(const char* name) {
    static void* libgcc = dlopen("libgcc_s.so.1", RTLD_NOW);
    return dlsym(libgcc, name);
}

_Unwind_Reason_Code keep_address(_Unwind_Context* context, void* argument) {
    static const auto get_address =
        reinterpret_cast<decltype(&_Unwind_GetIP)>(from_libgcc("_Unwind_GetIP"));
    static_cast<Addresses*>(argument)->push_back(get_address(context));
    return _URC_NO_REASON;
}

[[gnu::noinline]] void walk_at_once(void* argument) {
    auto& at_once = *static_cast<AtOnce*>(argument);
    at_once.captured = capture_here();
    const auto* frame = static_cast<const uint64_t*>(__builtin_frame_address(0));
    const Registers start{frame[1], reinterpret_cast<uint64_t>(frame + 2), frame[0]};
    static Walk walk;
    static void* frames[kMaxNativeFrames];
    at_once.result =
        walk_stack(start, native_thread()->bounds, refresh_code_epoch_slow(), frames, walk);
    at_once.walked.clear();
    for (size_t i = 0; i < walk.frame_count; ++i) {
        at_once.walked.push_back(reinterpret_cast<uint64_t>(frames[i]));
    }
    at_once.expected.clear();
    static const auto backtrace =
        reinterpret_cast<decltype(&_Unwind_Backtrace)>(from_libgcc("_Unwind_Backtrace"));
    backtrace(keep_address, &at_once.expected);
    at_once.expected.erase(at_once.expected.begin());
    while (!at_once.expected.empty() && at_once.expected.back() == 0) {
        at_once.expected.pop_back();
    }
}

// Builds a library with one function with a frame of `frame_bytes`; its code has a fixed length.
std::string build_library(const std::filesystem::path& folder, int frame_bytes, int result = 1) {
    const std::string name =
        (folder / ("frame" + std::to_string(frame_bytes) + "_" + std::to_string(result))).string();
    std::ofstream(name + ".cpp")
        << "extern \"C\" int pass_on(void (*leaf)(void*), void* argument) {"
        << "char memory[" << frame_bytes << "];"
        << "asm volatile(\"\" : : \"r\"(memory) : \"memory\");"
        << "leaf(argument);"
        << "asm volatile(\"\" : : \"r\"(memory) : \"memory\");"
        << "return " << result << "; }";
    const std::string command =
        "g++ -O2 -fPIC -shared -fno-stack-protector -fcf-protection=none "
        "-fno-stack-clash-protection -o " +
        name + ".so " + name + ".cpp 2>/dev/null";
    return std::system(command.c_str()) == 0 ? name + ".so" : "";
}

using PassOn = int (*)(void (*)(void*), void*);

// Walks below the library's function; nullptr when it cannot be loaded.
void* walk_below(const std::string& library, AtOnce& at_once, int times) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle != nullptr);
    void* function = dlsym(handle, "pass_on");
    for (int i = 0; i < times; ++i) {
        reinterpret_cast<PassOn>(function)(walk_at_once, &at_once);
    }
    dlclose(handle);
    return function;
}

}  // namespace

TEST_CASE("a library at the place of an unloaded one gives its own frames", "[capture]") {
    const auto folder =
        std::filesystem::temp_directory_path() / ("peakline_native_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    const std::string small = build_library(folder, 1000);
    const std::string large = build_library(folder, 4000);
    if (small.empty() || large.empty()) {
        WARN("SKIP: g++ cannot build a library here");
        return;
    }
    uint32_t last_node = 0;
    for (int round = 0; round < 4; ++round) {
        const std::string& library = round % 2 == 0 ? small : large;
        AtOnce at_once;
        static void* place = nullptr;
        void* function = walk_below(library, at_once, 40);
        if (place != nullptr && function != place) {
            WARN("SKIP: the loader chose another place");
            break;
        }
        place = function;
        AtOnce first;
        walk_below(library, first, 1);
        for (const AtOnce* one : {&at_once, &first}) {
            CHECK(one->result == WalkResult::kComplete);
            CHECK(one->walked == one->expected);
            CHECK(one->captured.node != 0);
            CHECK(one->captured.flags == 0);
        }
        CHECK(at_once.captured.node != last_node);
        last_node = at_once.captured.node;
    }
    std::filesystem::remove_all(folder);
}

namespace {

[[gnu::noinline]] void capture_only(void* argument) {
    *static_cast<Captured*>(argument) = capture_here();
}

// Returns the address of the library's function, and the last of `times` captures below it.
[[gnu::noinline]] void* capture_below(const std::string& library, int times, Captured& captured) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle != nullptr);
    void* function = dlsym(handle, "pass_on");
    for (int i = 0; i < times; ++i) {
        reinterpret_cast<PassOn>(function)(capture_only, &captured);
    }
    dlclose(handle);
    return function;
}

}  // namespace

TEST_CASE("the first capture below a library sees it, whatever was at its place", "[capture]") {
    table();
    const auto folder =
        std::filesystem::temp_directory_path() / ("peakline_place_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    // Return addresses and stack addresses are equal: only the loader can tell them apart.
    const std::string twins[] = {build_library(folder, 1000, 1), build_library(folder, 1000, 2)};
    if (twins[0].empty() || twins[1].empty()) {
        WARN("SKIP: g++ cannot build a library here");
        return;
    }
    Captured captured;
    void* const place = capture_below(twins[0], 40, captured);
    const uint64_t memo_hits = native_thread()->counts.memo_hits;
    for (int round = 0; round < 20; ++round) {
        const uint32_t node_of_other = captured.node;
        if (capture_below(twins[(round + 1) % 2], 1, captured) != place) {
            WARN("SKIP: the loader chose another place");
            break;
        }
        CHECK(captured.node != 0);
        CHECK(captured.flags == 0);
        CHECK(captured.node != node_of_other);
    }
    CHECK(memo_hits > 30);  // a stack through a library is memoised while nothing changes
    std::filesystem::remove_all(folder);
}

namespace {

std::atomic<long> g_signals{0};
std::atomic<long> g_captured_in_signals{0};

void capture_in_handler(int) {
    ++g_signals;
    if (capture_here().node != 0) {
        ++g_captured_in_signals;
    }
}

}  // namespace

TEST_CASE("signals that capture inside a capture do no harm", "[capture]") {
    table();
    capture_here();
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = capture_in_handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, &before);
    const itimerval often{{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &often, nullptr);
    static Seen seen;
    std::mt19937 random(7);
    while (g_signals < 2000) {
        uint8_t program[10];
        for (uint8_t& shape : program) {
            shape = static_cast<uint8_t>(random());
        }
        call_shapes::call_through(program, 1 + random() % 10, capture_and_compare, &seen);
    }
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before, nullptr);
    CHECK(seen.wrong == 0);
    CHECK(g_captured_in_signals > 0);
}
