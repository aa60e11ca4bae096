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

#include "allocator/capture/thread_state.h"
#include "allocator/record/leaf_lock.h"
#include "allocator/record/recorder.h"
#include "autograd_hooks.h"
#include "install.h"
#include "open_regions.h"

namespace peakline::preload {
namespace {

using format::MarkKind;
using record::LockGuard;
using record::Recorder;

// More phases open at once are recorded, but not begun again by a trace that opens later.
constexpr size_t kMaxOpen = 64;
constexpr size_t kMaxNameBytes = 256;

struct OpenMark {
    MarkKind kind = MarkKind::kPhaseBegin;
    uint32_t kernel_thread_id = 0;
    uint64_t begin_ns = 0;
    char thread_name[16] = "";
    char name[kMaxNameBytes] = "";
    bool has_name = false;
    // Once the recorder has it: ids in its table.
    bool is_told = false;
    uint32_t thread = 0;
    uint32_t string = 0;
};

// In the order of their begin. The step, of which there is one, stands among the phases.
struct OpenMarks {
    record::LeafLock lock;
    OpenMark marks[kMaxOpen];  // Guarded by lock.
    size_t count = 0;          // Guarded by lock.
};

OpenMarks& open_marks() {
    static constinit OpenMarks marks;
    return marks;
}

// The program may fork before anything of ours is installed: see Note [Fork] in life_cycle.cpp. No
// other lock is taken under this one.
void watch_forks() {
    pthread_atfork([] { open_marks().lock.lock(); },
                   [] { open_marks().lock.unlock(); },
                   [] { open_marks().lock.reset_after_fork(); });
}

uint32_t own_kernel_id() {
    return static_cast<uint32_t>(syscall(SYS_gettid));
}

// Other threads' phases that were open when the recorder came up have a thread of their own in the
// trace: what nests in them must have the same one.
uint32_t thread_of_open_phase(uint32_t kernel_thread_id) {
    OpenMarks& open = open_marks();
    const LockGuard guard(open.lock);
    for (size_t i = 0; i < open.count; ++i) {
        if (open.marks[i].kind == MarkKind::kPhaseBegin && open.marks[i].thread != 0 &&
            open.marks[i].kernel_thread_id == kernel_thread_id) {
            return open.marks[i].thread;
        }
    }
    return 0;
}

uint32_t own_thread() {
    const capture::ThreadState* state = capture::thread_state(Recorder::instance().table());
    return state != nullptr ? state->thread_id : 0;
}

void remove_at(OpenMarks& open, size_t place) {
    --open.count;
    memmove(
        &open.marks[place], &open.marks[place + 1], (open.count - place) * sizeof open.marks[0]);
}

// The innermost phase of this name that this thread began. A child of fork ends, as another thread,
// what its parent began.
size_t place_of_phase(const OpenMarks& open, uint32_t kernel_thread_id, const char* name) {
    size_t found = kMaxOpen;
    for (size_t i = 0; i < open.count; ++i) {
        const OpenMark& mark = open.marks[i];
        if (mark.kind == MarkKind::kPhaseBegin && strcmp(mark.name, name) == 0 &&
            (mark.kernel_thread_id == kernel_thread_id || found == kMaxOpen ||
             open.marks[found].kernel_thread_id != kernel_thread_id)) {
            found = i;
        }
    }
    return found;
}

// Returns the thread that the ending phase began on; 0: unknown.
uint32_t forget_phase(const OpenMark& end) {
    OpenMarks& open = open_marks();
    const LockGuard guard(open.lock);
    const size_t place = place_of_phase(open, end.kernel_thread_id, end.name);
    if (place == kMaxOpen) {
        return 0;
    }
    const uint32_t thread = open.marks[place].thread;
    remove_at(open, place);
    return thread;
}

// False when there is no room.
bool add(const OpenMark& mark) {
    OpenMarks& open = open_marks();
    const LockGuard guard(open.lock);
    for (size_t i = 0; mark.kind == MarkKind::kStep && i < open.count; ++i) {
        if (open.marks[i].kind == MarkKind::kStep) {
            remove_at(open, i);
        }
    }
    if (open.count == kMaxOpen) {
        return false;
    }
    open.marks[open.count++] = mark;
    return true;
}

void keep(const OpenMark& mark) {
    // relaxed: said once, by whoever comes first.
    static std::atomic<bool> is_said{false};
    if (!add(mark) && !mark.is_told && !is_said.exchange(true, std::memory_order_relaxed)) {
        fprintf(stderr,
                "peakline: more than %zu marks were made before the recording began: '%s' is "
                "not recorded\n",
                kMaxOpen,
                mark.name);
    }
}

// Copies: the recorder is not called under the lock.
size_t copy_marks(OpenMark* copies, bool are_told) {
    OpenMarks& open = open_marks();
    const LockGuard guard(open.lock);
    size_t count = 0;
    for (size_t i = 0; i < open.count; ++i) {
        if (open.marks[i].is_told == are_told) {
            copies[count++] = open.marks[i];
        }
    }
    return count;
}

// The thread of marks[place], which was made before threads had ids.
uint32_t thread_of(const OpenMark* marks, size_t place) {
    const OpenMark& mark = marks[place];
    if (mark.kernel_thread_id == own_kernel_id()) {
        return own_thread();
    }
    for (size_t i = 0; i < place; ++i) {
        if (marks[i].kernel_thread_id == mark.kernel_thread_id) {
            return marks[i].thread;
        }
    }
    return Recorder::instance().table().add_thread(
        mark.kernel_thread_id, mark.thread_name, strlen(mark.thread_name));
}

void keep_as_told(const OpenMark& told) {
    OpenMarks& open = open_marks();
    const LockGuard guard(open.lock);
    for (size_t i = 0; i < open.count; ++i) {
        OpenMark& mark = open.marks[i];
        if (!mark.is_told && mark.kind == told.kind && strcmp(mark.name, told.name) == 0 &&
            mark.kernel_thread_id == told.kernel_thread_id) {
            if (told.kind == MarkKind::kNote) {
                remove_at(open, i);
            } else {
                mark = told;
            }
            return;
        }
    }
}

// What a trace that opens later begins with. A note is told once.
bool is_kept(const OpenMark& mark) {
    return mark.kind == MarkKind::kPhaseBegin || mark.kind == MarkKind::kStep ||
           (mark.kind == MarkKind::kNote && !mark.is_told);
}

}  // namespace

void mark(MarkKind kind, const char* name) {
    static pthread_once_t forks_are_watched = PTHREAD_ONCE_INIT;
    pthread_once(&forks_are_watched, watch_forks);
    OpenMark mark;
    mark.kind = kind;
    mark.has_name = name != nullptr;
    mark.begin_ns = monotonic_ns();
    mark.kernel_thread_id = own_kernel_id();
    prctl(PR_GET_NAME, mark.thread_name);
    snprintf(mark.name, sizeof mark.name, "%s", name != nullptr ? name : "");
    if (installed().is_on) {
        mark.is_told = true;
        const uint32_t known = thread_of_open_phase(mark.kernel_thread_id);
        mark.thread = known != 0 ? known : own_thread();
        mark.string = Recorder::instance().table().intern_text(name);
    }
    // First the recorder: it may open the trace, which would begin a phase that was kept again.
    // A phase ends on the thread that it began on in the trace.
    const bool ends = kind == MarkKind::kPhaseEnd;
    const uint32_t began_on = ends ? forget_phase(mark) : 0;
    if (mark.is_told) {
        Recorder::instance().record_mark(kind, began_on != 0 ? began_on : mark.thread, mark.string);
    }
    if (is_kept(mark)) {
        keep(mark);
    }
}

void tell_marks_to_recorder() {
    OpenMark marks[kMaxOpen];
    const size_t count = copy_marks(marks, false);
    PeaklineEarlyRegion regions[kMaxEarlyRegions];
    const size_t region_count = take_early_regions(regions);
    size_t region = 0;
    const auto tell_regions_before = [&](uint64_t begin_ns) {
        for (; region < region_count && regions[region].begin_ns < begin_ns; ++region) {
            record_early_region(regions[region], own_thread());
        }
    };
    Recorder& recorder = Recorder::instance();
    for (size_t i = 0; i < count; ++i) {
        tell_regions_before(marks[i].begin_ns);
        marks[i].is_told = true;
        marks[i].thread = thread_of(marks, i);
        marks[i].string = recorder.table().intern_text(marks[i].has_name ? marks[i].name : nullptr);
        recorder.record_mark(marks[i].kind, marks[i].thread, marks[i].string);
    }
    tell_regions_before(UINT64_MAX);
    finish_early_regions();
    for (size_t i = 0; i < count; ++i) {
        keep_as_told(marks[i]);
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
        Recorder::instance().restate_mark(marks[i].kind, marks[i].thread, marks[i].string);
    }
    restate_regions(restated_ns, UINT64_MAX);
}

}  // namespace peakline::preload
