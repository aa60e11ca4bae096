// The memo's answers against libunwind's slow stepper: always one node for one stack.
#include "allocator/capture/memo/stack_memo.h"

#include <atomic>
#include <map>
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

using Addresses = std::vector<uint64_t>;

struct Counts {
    std::atomic<long> hits{0};
    std::atomic<long> captures{0};
    std::atomic<long> wrong{0};
};

struct Wanderer {
    std::mt19937 random;
    long left;
    int depth = 0;
    Counts* counts;
    StackMemo memo;
    uint32_t number = 0;  // of the entry seen last
    std::map<Addresses, uint32_t> nodes;
    std::map<uint32_t, Addresses> stacks;
    std::vector<uint8_t> prefix;
    std::vector<Frame> expected;
    void* frames[kMaxNativeFrames];
};

uint32_t node_of_walk(Wanderer& wanderer, const Registers& start, uint64_t hash) {
    NativeThread* thread = native_thread();
    if (walk_stack(start, thread->bounds, code_epoch(), wanderer.frames, thread->walk) !=
        WalkResult::kComplete) {
        return 0;
    }
    Addresses addresses;
    for (size_t i = 0; i < thread->walk.frame_count; ++i) {
        addresses.push_back(reinterpret_cast<uint64_t>(wanderer.frames[i]));
    }
    const auto found = wanderer.nodes.emplace(addresses, wanderer.nodes.size() + 1);
    const uint32_t node = found.first->second;
    wanderer.number = wanderer.memo.keep(start, hash, code_epoch(), thread->walk, node);
    return node;
}

[[gnu::noinline]] void capture_here(Wanderer& wanderer) {
    const auto* frame = static_cast<const uint64_t*>(__builtin_frame_address(0));
    const Registers start{frame[1], reinterpret_cast<uint64_t>(frame + 2), frame[0]};
    const uint64_t hash = StackMemo::hash(start, 0);
    uint32_t node = wanderer.memo.find_predicted(start, code_epoch(), wanderer.number);
    if (node == 0) {
        node = wanderer.memo.find(start, hash, code_epoch(), &wanderer.number);
    }
    wanderer.counts->hits += node != 0 ? 1 : 0;
    if (node == 0) {
        node = node_of_walk(wanderer, start, hash);
    }
    ++wanderer.counts->captures;
    --wanderer.left;
    call_shapes::step_by_libunwind(start.cfa, wanderer.expected);
    Addresses addresses;
    for (const Frame& expected : wanderer.expected) {
        addresses.push_back(expected.address);
    }
    if (wanderer.stacks.emplace(node, addresses).first->second != addresses ||
        wanderer.nodes[addresses] != node) {
        ++wanderer.counts->wrong;
    }
}

// The prefix of the moment and one to three frames that mostly allocate on the stack: different
// chains often end at the same stack address, with the words of the last one still inside.
std::vector<uint8_t> similar_program(Wanderer& wanderer) {
    std::vector<uint8_t> program = wanderer.prefix;
    const unsigned length = 1 + wanderer.random() % 3;
    for (unsigned i = 0; i < length; ++i) {
        const uint8_t sized = call_shapes::kSizedShapes[wanderer.random() % 4];
        const auto size = static_cast<uint8_t>(wanderer.random() % 16 * call_shapes::kShapeCount);
        program.push_back(wanderer.random() % 8 == 0 ? static_cast<uint8_t>(wanderer.random())
                                                     : static_cast<uint8_t>(sized + size));
    }
    return program;
}

void wander(void* argument) {
    auto& wanderer = *static_cast<Wanderer*>(argument);
    capture_here(wanderer);
    if (wanderer.depth >= 4) {
        return;
    }
    const unsigned calls = wanderer.depth < 2 ? 5 : wanderer.random() % 3;
    for (unsigned i = 0; i < calls && wanderer.left > 0; ++i) {
        const std::vector<uint8_t> program = similar_program(wanderer);
        ++wanderer.depth;
        call_shapes::call_through(program.data(), program.size(), wander, argument);
        --wanderer.depth;
        if (wanderer.random() % 3 == 0) {
            capture_here(wanderer);
        }
    }
}

void wander_in_thread(unsigned seed, long captures, Counts& counts) {
    auto wanderer = std::make_unique<Wanderer>();
    wanderer->random.seed(seed);
    wanderer->left = captures;
    wanderer->counts = &counts;
    REQUIRE(wanderer->memo.init(16));
    while (wanderer->left > 0) {
        wanderer->prefix.resize(wanderer->random() % 3);
        for (uint8_t& shape : wanderer->prefix) {
            shape = static_cast<uint8_t>(wanderer->random());
        }
        const long until = wanderer->left - 400;
        while (wanderer->left > 0 && wanderer->left > until) {
            wander(wanderer.get());
        }
    }
}

}  // namespace

TEST_CASE("the memo gives one node for one stack, whatever it evicts", "[capture]") {
    refresh_code_epoch_slow();
    constexpr int kThreads = 5;
    constexpr long kCapturesPerThread = 12000;
    static Counts counts;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (unsigned seed = 1; seed <= kThreads; ++seed) {
        threads.emplace_back([seed] { wander_in_thread(seed, kCapturesPerThread, counts); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    INFO(counts.captures << " captures, " << counts.hits << " from the memo");
    CHECK(counts.wrong == 0);
    CHECK(counts.captures >= kThreads * kCapturesPerThread);
    CHECK(counts.hits > counts.captures / 50);
    CHECK(counts.hits < counts.captures * 99 / 100);
}
