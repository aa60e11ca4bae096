#include "open_regions.h"

#include <algorithm>
#include <ctime>

#include <dlfcn.h>
#include <pthread.h>

#include "allocator/record/recorder.h"
#include "autograd_hooks.h"
#include "open_list.h"

namespace peakline::preload {
namespace {

using format::ScopeAction;
using record::LockGuard;
using record::Recorder;

struct OpenRegion {
    uint32_t thread = 0;  // 0: another thread than the one that switched recording on
    uint32_t string = 0;
    uint64_t begin_ns = 0;
    bool is_recorded = false;  // in the trace that is open
};

OpenList<OpenRegion>& open_regions() {
    static constinit OpenList<OpenRegion> regions;
    return regions;
}

void add(const OpenRegion& region) {
    OpenList<OpenRegion>& open = open_regions();
    const LockGuard guard(open.lock);
    open.add(region);
}

bool remove(uint32_t thread, uint32_t string, OpenRegion* removed) {
    OpenList<OpenRegion>& open = open_regions();
    const LockGuard guard(open.lock);
    const size_t index =
        open.innermost([=](const OpenRegion& region) { return region.string == string; },
                       [=](const OpenRegion& region) { return region.thread == thread; });
    if (index == kMaxOpen) {
        return false;
    }
    *removed = open.items[index];
    open.remove_at(index);
    return true;
}

// Copies the regions for which `is_wanted` is true, and marks them as recorded. The lock is not
// held while the recorder is called.
template <class Wanted>
size_t take(OpenRegion* copies, Wanted is_wanted) {
    const bool is_recorded = Recorder::instance().is_tracing();
    OpenList<OpenRegion>& open = open_regions();
    const LockGuard guard(open.lock);
    return open.copy(copies, [&](OpenRegion& region) {
        const bool is_taken = is_wanted(region);
        region.is_recorded = is_taken ? is_recorded : region.is_recorded;
        return is_taken;
    });
}

void record_begins(const OpenRegion* regions, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        Recorder::instance().record_scope(
            ScopeAction::kBegin, regions[i].thread, regions[i].string);
    }
}

template <class Function>
Function find_in_preload(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

uint64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

void begin_region(uint32_t thread, uint32_t string, record::StepAction step) {
    Recorder& recorder = Recorder::instance();
    add({thread, string, monotonic_ns(), recorder.is_tracing()});
    recorder.record_scope(ScopeAction::kBegin, thread, string, step);
}

void end_region(uint32_t thread, uint32_t string, record::StepAction step) {
    Recorder& recorder = Recorder::instance();
    OpenRegion region;
    if (!remove(thread, string, &region)) {
        region = {thread, string, 0, recorder.is_tracing()};
    }
    if (region.is_recorded) {
        recorder.record_scope(ScopeAction::kEnd, region.thread, string, step);
    }
}

size_t take_early_regions(PeaklineEarlyRegion* regions) {
    static pthread_once_t forks_are_watched = PTHREAD_ONCE_INIT;
    pthread_once(&forks_are_watched, watch_forks<open_regions>);
    const auto early = find_in_preload<decltype(&peakline_early_regions)>("peakline_early_regions");
    const size_t count = early != nullptr ? early(regions, kMaxEarlyRegions) : 0;
    std::sort(regions, regions + count, [](const auto& a, const auto& b) {
        return a.begin_ns < b.begin_ns;
    });
    return count;
}

void record_early_region(const PeaklineEarlyRegion& region, uint32_t own_thread) {
    Recorder& recorder = Recorder::instance();
    const uint32_t thread = pthread_equal(region.thread, pthread_self()) != 0 ? own_thread : 0;
    const uint32_t string = recorder.table().intern_text(region.name);
    add({thread, string, region.begin_ns, recorder.is_tracing()});
    recorder.record_scope(ScopeAction::kBegin, thread, string);
}

void finish_early_regions() {
    const auto recorded = find_in_preload<decltype(&peakline_early_regions_recorded)>(
        "peakline_early_regions_recorded");
    if (recorded != nullptr) {
        recorded(end_scope);
    }
}

void restate_regions(uint64_t since_ns, uint64_t until_ns) {
    OpenRegion regions[kMaxOpen];
    const size_t count = take(regions, [=](const OpenRegion& region) {
        return region.begin_ns >= since_ns && region.begin_ns < until_ns;
    });
    record_begins(regions, count);
}

void record_missed_regions() {
    OpenRegion regions[kMaxOpen];
    const size_t count =
        take(regions, [](const OpenRegion& region) { return !region.is_recorded; });
    record_begins(regions, count);
}

}  // namespace peakline::preload
