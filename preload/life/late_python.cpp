#include "late_python.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "allocator/capture/stack_capture.h"
#include "allocator/record/recorder.h"
#include "install.h"
#include "preload/options/messages.h"

namespace peakline::preload {
namespace {

using record::Recorder;

void put_text(const char* key, const char* text) {
    Recorder::instance().put_meta(key, text, strlen(text));
}

void put_lines_missing(uint64_t blocks, uint64_t bytes) {
    Installed& state = installed();
    snprintf(
        state.lines_missing, sizeof state.lines_missing, "%" PRIu64 " %" PRIu64, blocks, bytes);
    put_text(format::kLinesMissing, state.lines_missing);
}

// Counts the blocks recorded so far. It may include blocks that another thread is making now.
void report_lines_missing() {
    Recorder& recorder = Recorder::instance();
    const uint64_t bytes = recorder.total_allocated_bytes();
    const uint64_t blocks = bytes != 0 ? recorder.counters().allocs : 0;
    put_lines_missing(blocks, bytes);
    if (blocks != 0) {
        say("%" PRIu64 " blocks (%" PRIu64
            " bytes) have no Python lines: CUDA was first used without the GIL. Call "
            "torch.cuda.set_device() before init_process_group(), init_device_mesh() or "
            "pin_memory() to have them.",
            blocks,
            bytes);
    }
}

void attach_late() {
    attach_python_side();
    if (capture::waits_for_python()) {
        return;
    }
    if (installed().has_python_stacks) {
        report_lines_missing();
    } else {
        put_lines_missing(0, 0);  // no block has lines: the note gives the reason
        put_text("note", installed().note);
    }
}

}  // namespace

void attach_python_side() {
    Installed& state = installed();
    char reason[200] = "";
    const capture::Attach result = capture::attach_python(reason, sizeof reason, attach_late);
    if (result == capture::Attach::kWaiting) {
        return;
    }
    state.has_python_stacks = result == capture::Attach::kAttached;
    if (!state.has_python_stacks && reason[0] != '\0') {
        say("no Python stacks: %s", reason);
        snprintf(state.note, sizeof state.note, "no Python stacks: %s", reason);
    }
}

void attach_if_waiting() {
    if (capture::waits_for_python()) {
        attach_late();
    }
}

void report_lines_never_came() {
    if (capture::waits_for_python()) {
        report_lines_missing();
    }
}

}  // namespace peakline::preload
