// The cost of one native stack: libunwind, the walk by rules, the memo, and the whole
// capture_native_stack, at three depths. Prints nanoseconds, the least of several rounds.
#define UNW_LOCAL_ONLY
#include <algorithm>
#include <chrono>
#include <cstdio>

#include <libunwind.h>

#include "allocator/capture/native_stack.h"
#include "tests/unit/capture/call_shapes.h"

using namespace peakline;
using namespace peakline::capture;

namespace {

constexpr int kRounds = 15;
constexpr int kCallsPerRound = 2000;

struct Costs {
    size_t frame_count;
    double libunwind_ns;
    double walk_ns;
    double memo_ns;
    double capture_ns;
};

record::StackTable& table() {
    static record::StackTable one;
    return one;
}

template <class Body>
double least_ns(Body body) {
    double least = 1e9;
    for (int round = 0; round < kRounds; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < kCallsPerRound; ++i) {
            body();
        }
        const std::chrono::duration<double, std::nano> took =
            std::chrono::steady_clock::now() - begin;
        least = std::min(least, took.count() / kCallsPerRound);
    }
    return least;
}

[[gnu::noinline]] void measure_here(void* argument) {
    auto& costs = *static_cast<Costs*>(argument);
    ThreadState& state = *thread_state(table());
    NativeThread& thread = *native_thread();
    const auto* frame = static_cast<const uint64_t*>(__builtin_frame_address(0));
    const Registers start{frame[1], reinterpret_cast<uint64_t>(frame + 2), frame[0]};
    const uint64_t epoch = refresh_code_epoch_slow();
    static void* frames[kMaxNativeFrames];
    static StackMemo memo;
    memo.init(kMemoSets);
    costs.libunwind_ns = least_ns([] { unw_backtrace(frames, kMaxNativeFrames); });
    costs.walk_ns = least_ns([&] { walk_stack(start, thread.bounds, epoch, frames, thread.walk); });
    costs.frame_count = thread.walk.frame_count;
    const uint64_t hash = StackMemo::hash(start, 0);
    uint32_t number = memo.keep(start, hash, epoch, thread.walk, 1);
    uint32_t found = 0;
    costs.memo_ns = least_ns([&] { found += memo.guess(start, epoch, number); });
    uint32_t flags = 0;
    number = 0;
    costs.capture_ns = least_ns([&] { capture_native_stack(table(), state, &flags, &number); });
    if (found == 0 || flags != 0) {
        std::printf("the memo did not answer\n");
    }
}

// A mixture as in optimised code: rbp holds data, some frames are aligned or sized at run time.
Costs measure(size_t depth) {
    constexpr uint8_t kMixture[] = {0, 1, 2, 10, 13, 14, 1, 0, 4, 12, 1, 6, 15, 0, 10, 11};
    uint8_t program[128];
    for (size_t i = 0; i < depth; ++i) {
        program[i] = kMixture[i % sizeof kMixture];
    }
    Costs costs{};
    // Every byte of a program makes two frames.
    call_shapes::call_through(program, depth / 2, measure_here, &costs);
    return costs;
}

}  // namespace

int main() {
    if (!table().init() || !init_native_stacks()) {
        std::fprintf(stderr, "no memory\n");
        return 1;
    }
    std::printf("%7s %10s %8s %6s %9s   (ns)\n", "frames", "libunwind", "rules", "memo", "capture");
    for (const size_t depth : {20, 50, 100}) {
        const Costs costs = measure(depth - 6);
        std::printf("%7zu %10.0f %8.0f %6.0f %9.0f\n",
                    costs.frame_count,
                    costs.libunwind_ns,
                    costs.walk_ns,
                    costs.memo_ns,
                    costs.capture_ns);
    }
    return 0;
}
