// The actions of one run of kill_test, drawn from its seed, and the log that parent and child
// share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>

#include <sys/mman.h>

#include "allocator/record/writer/trace_writer.h"

namespace peakline::torture {

using record::Keep;

constexpr size_t kMaxEvents = size_t{1} << 21;
constexpr uint32_t kSlots = 700;

// When SIGKILL strikes: at a random time, after a random number of single instructions from some
// event on, or as soon as a checkpoint is seen being written.
enum class Aim { kTime, kInstruction, kCheckpoint };

enum class End { kKill, kSegfault, kAbort, kExit, kExec, kForkThenKill, kCount };
constexpr const char* kEndNames[] = {
    "SIGKILL", "SIGSEGV", "abort", "_exit", "exec", "fork+SIGKILL"};

// One event as the child saw it return. bytes 0: a free.
struct Logged {
    uint32_t slot;
    uint32_t bytes;
};

// Shared by parent and child. The child writes one entry, then its count, after each call.
struct Log {
    std::atomic<uint64_t> count;
    std::atomic<bool> ready;
    Logged events[kMaxEvents];
};

inline Log* map_log() {
    void* memory = mmap(nullptr,
                        sizeof(Log),
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1,
                        0);
    return memory == MAP_FAILED ? nullptr : static_cast<Log*>(memory);
}

struct Plan {
    uint64_t seed;
    End end;
    Aim aim;
    Keep keep;
    uint64_t end_after_events;  // of ends the child makes itself
    int64_t kill_after_ns;      // of ends the parent makes
    uint64_t instructions;      // Aim::kInstruction: to go on for after end_after_events
    bool is_kill() const { return end == End::kKill || end == End::kForkThenKill; }
};

inline Plan plan_of(uint64_t seed) {
    std::mt19937_64 random(seed);
    Plan plan{};
    plan.seed = seed;
    plan.end = static_cast<End>(random() % static_cast<uint64_t>(End::kCount));
    // Most runs die by SIGKILL: only it can strike between two instructions.
    if (random() % 4 != 0) {
        plan.end = End::kKill;
    }
    const Keep keeps[] = {
        {Keep::Kind::kAll, 0}, {Keep::Kind::kPeak, 0}, {Keep::Kind::kLast, uint64_t{2} << 20}};
    plan.keep = keeps[random() % 3];
    // Bounded files need some chunks' worth of events before chunks are used again.
    const uint64_t most = plan.keep.kind == Keep::Kind::kAll ? 150'000 : 900'000;
    plan.end_after_events = random() % most;
    plan.kill_after_ns = static_cast<int64_t>(random() % (most * 120));
    plan.instructions = random() % 4000;
    if (plan.end == End::kKill) {
        plan.aim = static_cast<Aim>(random() % 3);
    }
    if (plan.aim == Aim::kCheckpoint && plan.keep.kind == Keep::Kind::kAll) {
        plan.aim = Aim::kInstruction;
    }
    if (plan.aim == Aim::kCheckpoint) {
        plan.kill_after_ns = static_cast<int64_t>(random() % 80'000);
    }
    return plan;
}

}  // namespace peakline::torture
