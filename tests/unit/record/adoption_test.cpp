// Blocks from before the hooks: a model of an allocator is asked at a random moment, and goes on.
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "allocator/record/recorder.h"
#include "tests/unit/catching.h"

using namespace peakline;
using format::Measure;
using record::AllocEvent;
using record::Recorder;

namespace {

struct ModelBlock {
    uint64_t requested_bytes;
    uint64_t block_bytes;
    bool is_deferred;
};

// Runs with or without the hooks, over few addresses: they come again.
class Allocator {
public:
    explicit Allocator(uint64_t seed) : random_(seed) {}

    // nullptr: nobody sees it.
    void run(Recorder* recorder, int events, bool with_deferred) {
        for (int i = 0; i < events; ++i) {
            const uint64_t address = (random_() % 300 + 1) * 512;
            const auto found = blocks_.find(address);
            if (found == blocks_.end()) {
                allocate(recorder, address);
            } else if (found->second.is_deferred) {
                complete(recorder, address);
            } else {
                release(recorder, address, with_deferred && random_() % 4 == 0);
            }
        }
    }

    std::vector<Recorder::AdoptedBlock> snapshot() const {
        std::vector<Recorder::AdoptedBlock> all;
        for (const auto& [address, block] : blocks_) {
            all.push_back(
                {address, block.requested_bytes, block.block_bytes, 0, 0, block.is_deferred});
        }
        return all;
    }
    uint64_t allocated() const { return allocated_; }
    uint64_t requested() const {
        uint64_t sum = 0;
        for (const auto& [address, block] : blocks_) {
            sum += block.requested_bytes;
        }
        return sum;
    }

private:
    void allocate(Recorder* recorder, uint64_t address) {
        const uint64_t bytes = (random_() % 50 + 1) * 512;
        blocks_[address] = {bytes - 7, bytes, false};
        allocated_ += bytes;
        if (recorder != nullptr) {
            recorder->record_alloc(
                AllocEvent{address, bytes - 7, bytes, recorder->untraced_context(), 0, 0},
                allocated_);
        }
    }
    void release(Recorder* recorder, uint64_t address, bool is_deferred) {
        allocated_ -= blocks_[address].block_bytes;
        if (is_deferred) {
            blocks_[address].is_deferred = true;
        } else {
            blocks_.erase(address);
        }
        if (recorder != nullptr) {
            recorder->record_free(
                address,
                0,
                is_deferred ? Recorder::FreeKind::kDeferred : Recorder::FreeKind::kCompleted,
                allocated_);
        }
    }
    void complete(Recorder* recorder, uint64_t address) {
        blocks_.erase(address);
        if (recorder != nullptr) {
            recorder->record_free_completed(address);
        }
    }

    std::mt19937_64 random_;
    std::map<uint64_t, ModelBlock> blocks_;
    uint64_t allocated_ = 0;
};

std::unique_ptr<Recorder> new_recorder() {
    auto recorder = std::make_unique<Recorder>();
    REQUIRE(recorder->init(nullptr));
    return recorder;
}

}  // namespace

TEST_CASE("adopted blocks and later ones sum to the allocator's own total", "[adoption]") {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        const bool with_deferred = seed % 2 == 0;
        const auto recorder = new_recorder();
        Allocator allocator(seed);
        allocator.run(nullptr, 500, true);
        recorder->begin_adoption();
        allocator.run(recorder.get(), 200, with_deferred);
        const std::vector<Recorder::AdoptedBlock> held = allocator.snapshot();
        allocator.run(recorder.get(), 200, with_deferred);
        recorder->adopt(held.data(), held.size());
        REQUIRE(recorder->level_bytes(0, Measure::kAllocated) == allocator.allocated());
        if (!with_deferred) {
            REQUIRE(recorder->level_bytes(0, Measure::kRequested) == allocator.requested());
        }
        allocator.run(recorder.get(), 2000, true);
        REQUIRE(recorder->level_bytes(0, Measure::kAllocated) == allocator.allocated());
        REQUIRE(recorder->counters().baseline_corrections == 0);
    }
}

TEST_CASE("an allocator that knows its totals only is one untraced block", "[adoption]") {
    const auto recorder = new_recorder();
    recorder->begin_adoption();
    const Recorder::AdoptedBlock all{0, 4096, 4096, 0, 0, false};
    REQUIRE(recorder->adopt(&all, 1) == 4096);
    recorder->record_free(512, 0, Recorder::FreeKind::kCompleted, 3072);
    REQUIRE(recorder->level_bytes(0, Measure::kAllocated) == 3072);
}

TEST_CASE("nothing is adopted twice", "[adoption]") {
    const auto recorder = new_recorder();
    recorder->begin_adoption();
    const Recorder::AdoptedBlock block{512, 500, 512, 0, 0, false};
    REQUIRE(recorder->adopt(&block, 1) == 512);
    REQUIRE(recorder->adopt(&block, 1) == 0);
    REQUIRE(recorder->level_bytes(0, Measure::kAllocated) == 512);
}
