// The rule-driven walk against libunwind's slow stepper: every frame's address and CFA.
#include "allocator/capture/unwind/native_stepper.h"

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "allocator/capture/native_thread.h"
#include "call_shapes.h"
#include "tests/unit/catching.h"

using namespace peakline::capture;
using call_shapes::Frame;

namespace {

struct Counts {
    std::atomic<long> walked{0};
    std::atomic<long> compared{0};
    std::atomic<long> wrong{0};
    std::atomic<long> unknown{0};
};

// Random calls below calls. Every walk is made; one in `compare_every` is compared with unw_step,
// which takes a hundred times as long.
struct Wanderer {
    std::mt19937 random;
    long left;
    int depth = 0;
    unsigned compare_every;
    Counts* counts;
    std::vector<Frame> expected;
    void* frames[kMaxNativeFrames];
};

bool agrees(const Registers& start,
            const Walk& walk,
            void* const* frames,
            const std::vector<Frame>& expected) {
    if (walk.frame_count != expected.size()) {
        return false;
    }
    uint64_t cfa = start.cfa;
    for (size_t i = 0; i < walk.frame_count; ++i) {
        if (!(Frame{reinterpret_cast<uint64_t>(frames[i]), cfa} == expected[i])) {
            return false;
        }
        cfa = walk.exits[i].cfa;
    }
    return true;
}

[[gnu::noinline]] void compare_here(Wanderer& wanderer) {
    const auto* frame = static_cast<const uint64_t*>(__builtin_frame_address(0));
    const Registers start{frame[1], reinterpret_cast<uint64_t>(frame + 2), frame[0]};
    NativeThread* thread = native_thread();
    const WalkResult result =
        walk_stack(start, thread->bounds, code_epoch(), wanderer.frames, thread->walk);
    ++wanderer.counts->walked;
    --wanderer.left;
    if (result != WalkResult::kComplete) {
        ++wanderer.counts->unknown;
        return;
    }
    if (wanderer.random() % wanderer.compare_every != 0) {
        return;
    }
    call_shapes::step_by_libunwind(start.cfa, wanderer.expected);
    ++wanderer.counts->compared;
    if (!agrees(start, thread->walk, wanderer.frames, wanderer.expected)) {
        ++wanderer.counts->wrong;
    }
}

void wander(void* argument) {
    auto& wanderer = *static_cast<Wanderer*>(argument);
    compare_here(wanderer);
    if (wanderer.depth >= 12) {
        return;
    }
    const unsigned calls = wanderer.depth < 2 ? 6 : wanderer.random() % 3;
    for (unsigned i = 0; i < calls && wanderer.left > 0; ++i) {
        uint8_t program[8];
        const size_t length = 1 + wanderer.random() % 8;
        for (uint8_t& shape : program) {
            shape = static_cast<uint8_t>(wanderer.random());
        }
        ++wanderer.depth;
        call_shapes::call_through(program, length, wander, argument);
        --wanderer.depth;
    }
}

void wander_in_thread(unsigned seed, long stacks, unsigned compare_every, Counts& counts) {
    auto wanderer = std::make_unique<Wanderer>();
    wanderer->random.seed(seed);
    wanderer->left = stacks;
    wanderer->compare_every = compare_every;
    wanderer->counts = &counts;
    while (wanderer->left > 0) {
        wander(wanderer.get());
    }
}

}  // namespace

TEST_CASE("a million random stacks of five threads are those of unw_step", "[capture]") {
    refresh_code_epoch_slow();
    constexpr int kThreads = 5;
    constexpr long kStacksPerThread = 200000;
    static Counts counts;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (unsigned seed = 1; seed <= kThreads; ++seed) {
        threads.emplace_back([seed] { wander_in_thread(seed, kStacksPerThread, 20, counts); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK(counts.walked >= kThreads * kStacksPerThread);
    CHECK(counts.compared > 40000);
    CHECK(counts.wrong == 0);
    CHECK(counts.unknown == 0);
}

TEST_CASE("stacks of the main thread are those of unw_step", "[capture]") {
    refresh_code_epoch_slow();
    static Counts counts;
    wander_in_thread(99, 3000, 1, counts);
    CHECK(counts.compared >= 3000);
    CHECK(counts.wrong == 0);
    CHECK(counts.unknown == 0);
}
