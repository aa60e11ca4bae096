#include "recorded_steps.h"

#include <cstdlib>
#include <cstring>

#include "allocator/capture/stack_capture.h"
#include "allocator/record/recorder.h"
#include "install.h"
#include "late_python.h"
#include "open_trace.h"
#include "preload/device/driver_recording.h"
#include "preload/hooks/segment_hooks.h"
#include "preload/peakline_api.h"
#include "value_reads.h"

namespace peakline::preload {

using record::Recorder;

const char* recorded_steps(const Options& options) {
    return strstr(options.steps, "..") != nullptr ? options.steps : "";
}

bool waits_for_steps(const Options& options) {
    return strtoul(recorded_steps(options), nullptr, 10) > 1;
}

bool begin_recorded_steps() {
    Installed& state = installed();
    if (!state.is_on) {
        return false;
    }
    if (!waits_for_steps(state.options)) {
        return true;  // recording began with CUDA
    }
    LiveSegments segments;
    copy_segments(&segments);
    open_trace_or_say_why();
    if (Recorder::instance().has_trace()) {
        record_segments(segments);
    }
    peakline_start_tracing();
    // Models and optimizers existed before the trace.
    capture::object_side().run_safe_point(capture::SafePoint::kLook);
    return true;
}

void end_recorded_steps() {
    Recorder& recorder = Recorder::instance();
    capture::object_side().run_safe_point(capture::SafePoint::kLook);
    recorder.stop_tracing();
    if (recorder.has_trace()) {
        record_memory_at_main_end();
        sample_at_end();
        put_device_use();
        report_lines_never_came();
        peakline_close_trace();
    }
}

}  // namespace peakline::preload
