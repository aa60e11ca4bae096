#include "life_cycle.h"

#include <atomic>
#include <cstdlib>

#include <pthread.h>

#include "allocator/capture/native_thread.h"
#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/recorder.h"
#include "late_python.h"
#include "open_trace.h"
#include "preload/device/driver_recording.h"
#include "preload/hooks/allocator_calls.h"
#include "preload/hooks/cpu_hooks.h"
#include "preload/hooks/segment_hooks.h"
#include "value_reads.h"

namespace peakline::preload {
namespace {

std::atomic<bool> g_ended{false};

// Note [Fork]
// A child made while another thread held one of our locks would wait for ever. So prepare takes all
// locks, in the order the code takes them. The child leaves its parent's file alone and records
// nothing, since CUDA does not survive a fork either. A child forked before CUDA was initialised
// has no recorder yet; it starts its own recording when it initialises CUDA.
void prepare_fork() {
    capture::python_side().prepare_fork();
    prepare_fork_segments();
    prepare_fork_allocator_calls();
    prepare_fork_driver();
    record::Recorder::instance().prepare_fork();
}
void parent_after_fork() {
    record::Recorder::instance().parent_after_fork();
    parent_after_fork_driver();
    parent_after_fork_allocator_calls();
    parent_after_fork_segments();
    capture::python_side().parent_after_fork();
}
void child_after_fork() {
    // The child has nothing to report at its end. Threads that did not survive the fork may hold
    // the device's locks.
    g_ended.store(true, std::memory_order_relaxed);
    child_after_fork_cpu();
    record::Recorder::instance().child_after_fork();
    child_after_fork_driver();
    child_after_fork_segments();
    child_after_fork_allocator_calls();
    capture::free_states_of_lost_threads();
    capture::free_native_state_of_lost_threads();
    // A thread that did not survive the fork may hold the loader's lock, which unwinding needs.
    capture::set_capture_options({false, false});
    capture::python_side().child_after_fork();
}

}  // namespace

void watch_life_cycle() {
    static bool watched = false;
    if (!watched) {
        watched = true;
        pthread_atfork(prepare_fork, parent_after_fork, child_after_fork);
        capture::set_main_end_handler([] {
            record_memory_at_main_end();
            sample_at_end();
            record::Recorder::instance().record_main_end();
        });
        // The interpreter is finalised inside main, before this handler.
        atexit([] {
            sample_at_end();
            end_of_process();
        });
    }
}

void end_of_process() {
    // relaxed: only a second call matters, and it comes from the same exiting thread.
    record::Recorder& recorder = record::Recorder::instance();
    if (!g_ended.exchange(true, std::memory_order_relaxed) && recorder.may_end()) {
        put_device_use();
        report_lines_never_came();
        say_if_trace_is_lost();
        recorder.close_trace();
    }
}

}  // namespace peakline::preload
