// The child of kill_test: records, and logs each event once its call returned, until it is killed
// or ends as planned.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <sys/ptrace.h>
#include <unistd.h>

#include "allocator/record/recorder.h"
#include "kill_plan.h"

namespace peakline::torture {

using record::AllocEvent;
using record::Recorder;

constexpr uint64_t kEventsPerRound = 2500;

[[noreturn]] inline void end_child(End end) {
    switch (end) {
        case End::kSegfault:
            raise(SIGSEGV);
            break;
        case End::kAbort:
            abort();
        case End::kExec:
            execl("/bin/true", "true", nullptr);
            break;
        default:
            break;
    }
    _exit(0);
}

// Runs in the child until something ends it.
[[noreturn]] inline void record_for_ever(const char* path, const Plan& plan, Log* log) {
    Recorder& recorder = Recorder::instance();
    Recorder::TraceOptions options{};
    options.path = path;
    options.exists = record::FileTarget::Exists::kReplace;
    options.keep = plan.keep;
    if (!recorder.init(nullptr) || recorder.open_trace(options) != 0) {
        _exit(99);
    }
    recorder.start_tracing();
    if (plan.aim == Aim::kInstruction) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    }
    std::mt19937_64 random(plan.seed);
    uint64_t level = 0;
    std::vector<uint32_t> contexts;
    std::vector<uint32_t> live(kSlots);
    log->ready.store(true, std::memory_order_release);
    for (uint64_t n = 0; n < kMaxEvents; ++n) {
        if (n % 1000 == 0 && contexts.size() < 3000) {
            const std::string name = "operator" + std::to_string(contexts.size());
            record::StackTable& table = recorder.table();
            const uint32_t operator_name = table.intern_string(name.data(), name.size());
            contexts.push_back(table.intern_context(record::Context{0, 0, 0, 0, operator_name, 0}));
        }
        // Every other program is a loop: each slot is as it was after every second round.
        if (plan.seed % 2 == 0 && n % kEventsPerRound == 0) {
            random.seed(plan.seed);
        }
        const auto slot = static_cast<uint32_t>(random() % kSlots);
        const auto drawn_bytes = static_cast<uint32_t>(random() % 100 + 1) * 512;
        const uint64_t address = (slot + 1) * uint64_t{65536};
        uint32_t bytes = 0;
        if (live[slot] != 0) {
            level -= live[slot];
            recorder.record_free(address, 0, Recorder::FreeKind::kCompleted, level);
        } else {
            bytes = drawn_bytes;
            level += bytes;
            const uint32_t context = contexts[n % kEventsPerRound % contexts.size()];
            recorder.record_alloc(AllocEvent{address, bytes - 7, bytes, context, 0, 0}, level);
        }
        live[slot] = bytes;
        log->events[n] = Logged{slot, bytes};
        // release: the entry is whole before it counts.
        log->count.store(n + 1, std::memory_order_release);
        if (plan.end == End::kForkThenKill && n % 5000 == 4999 && fork() == 0) {
            _exit(0);  // its mappings of the file must not be the parent's
        }
        if (n == plan.end_after_events && plan.aim == Aim::kInstruction) {
            raise(SIGSTOP);
        } else if (n == plan.end_after_events && !plan.is_kill()) {
            end_child(plan.end);
        }
    }
    pause();
    _exit(0);
}

}  // namespace peakline::torture
