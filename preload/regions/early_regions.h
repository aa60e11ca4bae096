// The record_function regions that the preloaded library saw before anything was recorded: what
// libpeakline.so asks it for, by the names of these functions. Plain C types.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pthread.h>

extern "C" {

struct PeaklineEarlyRegion {
    uint64_t begin_ns;  // CLOCK_MONOTONIC
    pthread_t thread;   // that began it
    char name[256];
};

// Writes those that are open, in no order, and returns their number.
size_t peakline_early_regions(PeaklineEarlyRegion* regions, size_t room);
// They have been recorded: from now on `end_region` is called where one of them ends, and at once
// for those that ended meanwhile.
void peakline_early_regions_recorded(void (*end_region)(const char* name));

}  // extern "C"
