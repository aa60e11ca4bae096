#include "open_marks.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/recorder.h"
#include "install.h"
#include "preload/device/driver_recording.h"
#include "preload/options/messages.h"
#include "preload/regions/autograd_hooks.h"
#include "preload/regions/open_list.h"
#include "preload/regions/open_regions.h"

namespace peakline::preload {
namespace {

using format::MarkKind;
using record::LockGuard;
using record::Recorder;

constexpr size_t kMaxNameBytes = 256;

struct OpenMark {
    MarkKind kind = MarkKind::kPhaseBegin;
    uint64_t begin_ns = 0;
    uint32_t kernel_thread_id = 0;
    // Set once the mark is recorded: ids in the recorder's table.
    uint32_t thread = 0;
    uint32_t string = 0;
    bool is_recorded = false;
    bool has_name = false;
    char thread_name[16] = "";
    char name[kMaxNameBytes] = "";
};

// The list holds the phases and at most one step.
OpenList<OpenMark>& open_marks() {
    static constinit OpenList<OpenMark> marks;
    return marks;
}

uint32_t own_kernel_id() {
    return static_cast<uint32_t>(syscall(SYS_gettid));
}

// Phases of other threads that were open when the recorder was installed have a separate thread in
// the trace. Phases nested in them must use the same one.
uint32_t thread_of_open_phase(uint32_t kernel_thread_id) {
    OpenList<OpenMark>& open = open_marks();
    const LockGuard guard(open.lock);
    for (size_t i = 0; i < open.count; ++i) {
        if (open.items[i].kind == MarkKind::kPhaseBegin && open.items[i].thread != 0 &&
            open.items[i].kernel_thread_id == kernel_thread_id) {
            return open.items[i].thread;
        }
    }
    return 0;
}

uint32_t own_thread() {
    const capture::ThreadState* state = capture::thread_state(Recorder::instance().table());
    return state != nullptr ? state->thread_id : 0;
}

// Returns the thread that the ending phase began on; 0: unknown.
uint32_t forget_phase(const OpenMark& end) {
    OpenList<OpenMark>& open = open_marks();
    const LockGuard guard(open.lock);
    const size_t index = open.innermost(
        [&end](const OpenMark& mark) {
            return mark.kind == MarkKind::kPhaseBegin && strcmp(mark.name, end.name) == 0;
        },
        [&end](const OpenMark& mark) { return mark.kernel_thread_id == end.kernel_thread_id; });
    if (index == kMaxOpen) {
        return 0;
    }
    const uint32_t thread = open.items[index].thread;
    open.remove_at(index);
    return thread;
}

// Returns false when there is no room.
bool add(const OpenMark& mark) {
    OpenList<OpenMark>& open = open_marks();
    const LockGuard guard(open.lock);
    for (size_t i = 0; mark.kind == MarkKind::kStep && i < open.count; ++i) {
        if (open.items[i].kind == MarkKind::kStep) {
            open.remove_at(i);
        }
    }
    return open.add(mark);
}

void keep(const OpenMark& mark) {
    // relaxed: the first thread reports it, once.
    static std::atomic<bool> is_reported{false};
    if (!add(mark) && !mark.is_recorded && !is_reported.exchange(true, std::memory_order_relaxed)) {
        say("more than %zu marks were made before the recording began: '%s' is not recorded",
            kMaxOpen,
            mark.name);
    }
}

// Copies, because the recorder must not be called under the lock.
size_t copy_marks(OpenMark* copies, bool are_recorded) {
    OpenList<OpenMark>& open = open_marks();
    const LockGuard guard(open.lock);
    return open.copy(copies,
                     [=](const OpenMark& mark) { return mark.is_recorded == are_recorded; });
}

// The thread of marks[index], which was made before threads had ids.
uint32_t thread_of(const OpenMark* marks, size_t index) {
    const OpenMark& mark = marks[index];
    if (mark.kernel_thread_id == own_kernel_id()) {
        return own_thread();
    }
    for (size_t i = 0; i < index; ++i) {
        if (marks[i].kernel_thread_id == mark.kernel_thread_id) {
            return marks[i].thread;
        }
    }
    return Recorder::instance().table().add_thread(
        mark.kernel_thread_id, mark.thread_name, strlen(mark.thread_name));
}

void keep_as_recorded(const OpenMark& recorded) {
    OpenList<OpenMark>& open = open_marks();
    const LockGuard guard(open.lock);
    for (size_t i = 0; i < open.count; ++i) {
        OpenMark& mark = open.items[i];
        if (!mark.is_recorded && mark.kind == recorded.kind &&
            strcmp(mark.name, recorded.name) == 0 &&
            mark.kernel_thread_id == recorded.kernel_thread_id) {
            if (recorded.kind == MarkKind::kNote) {
                open.remove_at(i);
            } else {
                mark = recorded;
            }
            return;
        }
    }
}

// Whether a trace that opens later begins with this mark. A note is recorded once.
bool is_kept(const OpenMark& mark) {
    return mark.kind == MarkKind::kPhaseBegin || mark.kind == MarkKind::kStep ||
           (mark.kind == MarkKind::kNote && !mark.is_recorded);
}

}  // namespace

void mark(MarkKind kind, const char* name) {
    static pthread_once_t forks_are_watched = PTHREAD_ONCE_INIT;
    pthread_once(&forks_are_watched, watch_forks<open_marks>);
    OpenMark mark;
    mark.kind = kind;
    mark.has_name = name != nullptr;
    mark.begin_ns = monotonic_ns();
    mark.kernel_thread_id = own_kernel_id();
    prctl(PR_GET_NAME, mark.thread_name);
    snprintf(mark.name, sizeof mark.name, "%s", name != nullptr ? name : "");
    if (installed().is_on) {
        mark.is_recorded = true;
        const uint32_t known = thread_of_open_phase(mark.kernel_thread_id);
        mark.thread = known != 0 ? known : own_thread();
        mark.string = Recorder::instance().table().intern_text(name);
    }
    // Calls the recorder first: it may open the trace, which would begin a kept phase again. A
    // phase ends on the thread on which it began in the trace.
    const bool ends = kind == MarkKind::kPhaseEnd;
    const uint32_t began_on = ends ? forget_phase(mark) : 0;
    if (mark.is_recorded) {
        if (ends || kind == MarkKind::kStep) {
            sample_after_phase();
        }
        Recorder::instance().record_mark(kind, began_on != 0 ? began_on : mark.thread, mark.string);
    }
    if (is_kept(mark)) {
        keep(mark);
    }
}

void record_early_marks() {
    OpenMark marks[kMaxOpen];
    const size_t count = copy_marks(marks, false);
    PeaklineEarlyRegion regions[kMaxEarlyRegions];
    const size_t region_count = take_early_regions(regions);
    size_t region = 0;
    const auto record_regions_before = [&](uint64_t begin_ns) {
        for (; region < region_count && regions[region].begin_ns < begin_ns; ++region) {
            record_early_region(regions[region], own_thread());
        }
    };
    Recorder& recorder = Recorder::instance();
    for (size_t i = 0; i < count; ++i) {
        record_regions_before(marks[i].begin_ns);
        marks[i].is_recorded = true;
        marks[i].thread = thread_of(marks, i);
        marks[i].string = recorder.table().intern_text(marks[i].has_name ? marks[i].name : nullptr);
        recorder.record_mark(marks[i].kind, marks[i].thread, marks[i].string);
    }
    record_regions_before(UINT64_MAX);
    finish_early_regions();
    for (size_t i = 0; i < count; ++i) {
        keep_as_recorded(marks[i]);
    }
}

void restate_marks() {
    forget_graphs();
    OpenMark marks[kMaxOpen];
    const size_t count = copy_marks(marks, true);
    uint64_t restated_ns = 0;
    for (size_t i = 0; i < count; ++i) {
        restate_regions(restated_ns, marks[i].begin_ns);
        restated_ns = marks[i].begin_ns;
        Recorder::instance().record(format::Mark{marks[i].kind, marks[i].thread, marks[i].string});
    }
    restate_regions(restated_ns, UINT64_MAX);
}

}  // namespace peakline::preload
