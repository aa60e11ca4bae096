// The record_function regions that the preloaded library saw before recording began. libpeakline.so
// looks up these functions by name. Plain C types.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pthread.h>

extern "C" {

struct PeaklineEarlyRegion {
    uint64_t begin_ns;  // CLOCK_MONOTONIC
    pthread_t thread;   // the thread that began it
    char name[256];
};

// Writes the open regions, in no order, and returns their number.
size_t peakline_early_regions(PeaklineEarlyRegion* regions, size_t room);
// Call when those regions are recorded. From then on the end of each calls `end_region`, at once
// for those that ended meanwhile.
void peakline_early_regions_recorded(void (*end_region)(const char* name));

}  // extern "C"
