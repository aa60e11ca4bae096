// Note [Waiting]
// `while not done.item()` never ends when kernels compute nothing. A program that reads guessed
// values at one stack more than PEAKLINE_MAX_VALUE_READS times is ended: with one message and
// SystemExit(3) in the main thread, so that `finally` and exit handlers run and the trace ends
// cleanly. A main thread that runs no more Python code does not get the exception. So after as many
// reads again the process is killed; its trace is still complete.
#include "value_reads.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <dlfcn.h>
#include <unistd.h>

#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/recorder.h"
#include "allocator/record/tables/mapped_array.h"
#include "assumptions.h"
#include "install.h"
#include "life_cycle.h"
#include "preload/options/messages.h"
#include "preload/peakline_api.h"

namespace peakline::preload {
namespace {

using record::LockGuard;
using record::Recorder;

constexpr int kStoppedStatus = 3;
constexpr uint64_t kDefaultMaxReads = 10000;
constexpr size_t kCountedStacks = size_t{1} << 16;

Assumptions& assumptions() {
    alignas(Assumptions) static unsigned char storage[sizeof(Assumptions)];
    static auto* const rules = new (storage) Assumptions;
    return *rules;
}

// Written once, before the first read.
uint64_t g_max_reads = kDefaultMaxReads;
// A function of the simulated GPU; also written once. Looked up early: at the end the process may
// have interrupted the loader.
size_t (*g_most_used)(int) = nullptr;

struct ReadCounts {
    record::LeafLock lock;
    record::MappedArray<uint64_t> counts;  // by context id
    bool is_reported = false;
};
ReadCounts& read_counts() {
    alignas(ReadCounts) static unsigned char storage[sizeof(ReadCounts)];
    static auto* const all = new (storage) ReadCounts;
    return *all;
}

// Returns the number of reads at this stack, including this one.
uint64_t count_read(uint32_t context) {
    ReadCounts& all = read_counts();
    const LockGuard guard(all.lock);
    return context < kCountedStacks && all.counts.size() == kCountedStacks ? ++all.counts[context]
                                                                           : 0;
}

bool is_library(const char* file, size_t length) {
    const auto contains = [&](const char* part) {
        return memmem(file, length, part, strlen(part)) != nullptr;
    };
    return contains("/site-packages/") || contains("/dist-packages/") || contains("/torch/") ||
           (length > 0 && file[0] == '<');
}

// "train.py:57 (step)": the innermost line of the user's code, else the innermost line.
void describe_location(uint32_t python_node, char* text, size_t room) {
    snprintf(text, room, "a line that is not known");
    bool has_any = false;
    Recorder::instance().table().visit_python_stack(
        python_node,
        [&](const char* file, size_t length, const char* name, size_t name_length, uint32_t line) {
            const bool is_users = !is_library(file, length);
            if (is_users || !has_any) {
                const auto* const slash = static_cast<const char*>(memrchr(file, '/', length));
                const char* const base = slash != nullptr ? slash + 1 : file;
                snprintf(text,
                         room,
                         "%.*s:%u (%.*s)",
                         static_cast<int>(file + length - base),
                         base,
                         line,
                         static_cast<int>(name_length),
                         name);
            }
            has_any = true;
            return !is_users;
        });
}

void put_stopped_meta(const char* location) {
    Recorder::instance().put_meta("stopped_waiting_at", location, strlen(location));
}

void end_waiting_program(uint32_t python_node, uint64_t count) {
    ReadCounts& all = read_counts();
    bool is_first = false;
    {
        const LockGuard guard(all.lock);
        is_first = !all.is_reported;
        all.is_reported = true;
    }
    if (is_first) {
        char location[512];
        describe_location(python_node, location, sizeof location);
        put_stopped_meta(location);
        const int name_length = static_cast<int>(strcspn(location, " "));
        say("%s read a value %llu times that the simulated GPU never computes, and seems to wait "
            "for it. The program ends here with status %d; its trace is complete. Set the value "
            "with --assume %.*s=VALUE, or allow more reads with --max-value-reads 0.",
            location,
            static_cast<unsigned long long>(count),
            kStoppedStatus,
            name_length,
            location);
        if (capture::python_side().request_exit(kStoppedStatus)) {
            return;
        }
    }
    if (!is_first && count < 2 * g_max_reads) {
        return;
    }
    end_of_process();
    _exit(kStoppedStatus);
}

void answer(const Assumption& rule, PeaklineValueRead* read) {
    read->is_assumed = 1;
    read->value = rule.value;
    read->is_fraction =
        read->is_size != 0 && (rule.is_percentage || (!rule.is_whole && rule.value <= 1)) ? 1 : 0;
}

// `peakline run` reports rules that no trace marks as matched.
void put_matched_meta(const Assumption& rule) {
    char key[sizeof rule.text + 32];
    snprintf(key, sizeof key, "assumption_matched %s", rule.text);
    Recorder::instance().put_meta(key, "1", 1);
}

void on_value_read(PeaklineValueRead* read) {
    Recorder& recorder = Recorder::instance();
    capture::ThreadState* const state = capture::thread_state(recorder.table());
    if (state == nullptr) {
        return;
    }
    uint32_t flags = 0;
    const uint32_t python_node = capture::capture_python(recorder.table(), *state, &flags);
    Assumption rule;
    if (assumptions().find(recorder.table(), python_node, read->operators, &rule)) {
        answer(rule, read);
        if (!rule.has_matched) {
            put_matched_meta(rule);
        }
    }
    const uint32_t context = capture::capture_context(recorder.table(), *state);
    if (recorder.is_tracing()) {
        const bool is_zero_size = read->is_size != 0 && read->is_computed == 0;
        const uint32_t what =
            (is_zero_size ? uint32_t{format::kReadsSize} : 0) |
            (read->is_assumed != 0 ? uint32_t{format::kReadAssumed} : 0) |
            (read->is_floating_point != 0 ? uint32_t{format::kReadsFloatingPoint} : 0);
        const uint32_t operators = recorder.table().intern_text(read->operators);
        recorder.record(format::ValueRead{context, read->bytes, operators, what});
    }
    const uint64_t count = read->is_assumed != 0 ? 0 : count_read(context);
    if (g_max_reads != 0 && count >= g_max_reads) {
        end_waiting_program(python_node, count);
    }
}

// Also names a simulated GPU that was preloaded by hand.
void name_simulated_device(Options& options) {
    if (options.simulated[0] == '\0' &&
        dlsym(RTLD_DEFAULT, "peakline_sim_device_memory") != nullptr) {
        const char* const device = getenv("PEAKLINE_SIM_DEVICE");
        snprintf(options.simulated,
                 sizeof options.simulated,
                 "%s",
                 device != nullptr && device[0] != '\0' ? device : "default device");
    }
}

}  // namespace

void set_up_value_reads(Installed& state) {
    name_simulated_device(state.options);
    if (state.options.simulated[0] == '\0') {
        return;
    }
    g_most_used = reinterpret_cast<size_t (*)(int)>(dlsym(RTLD_DEFAULT, "peakline_sim_most_used"));
    ReadCounts& all = read_counts();
    if (all.counts.size() == 0 && all.counts.reserve(kCountedStacks)) {
        all.counts.resize_untouched(kCountedStacks);
    }
    const char* const wrong = assumptions().add_all(state.options.assume);
    if (wrong != nullptr) {
        say("PEAKLINE_ASSUME: '%s' is not FILE:LINE=VALUE or OPERATOR=VALUE and was ignored, with "
            "what follows it",
            wrong);
    }
    if (state.options.max_value_reads[0] != '\0') {
        g_max_reads = strtoull(state.options.max_value_reads, nullptr, 10);
    }
}

void put_device_use() {
    for (size_t i = 0; g_most_used != nullptr && i < installed().device_count; ++i) {
        char key[48];
        char value[32];
        snprintf(key, sizeof key, "device.%zu.most_used_bytes", i);
        snprintf(value, sizeof value, "%zu", g_most_used(static_cast<int>(i)));
        Recorder::instance().put_meta(key, value, strlen(value));
    }
}

}  // namespace peakline::preload

#define PEAKLINE_EXPORT __attribute__((visibility("default")))

extern "C" {

PEAKLINE_EXPORT void peakline_value_read(PeaklineValueRead* read) {
    read->is_assumed = 0;
    if (peakline::preload::installed().is_on) {
        peakline::preload::on_value_read(read);
    }
}

PEAKLINE_EXPORT int32_t peakline_assume(const char* rule) {
    return peakline::preload::assumptions().add(rule) ? 1 : 0;
}

PEAKLINE_EXPORT void peakline_assume_no_more(const char* rule) {
    peakline::preload::assumptions().remove(rule);
}
}
