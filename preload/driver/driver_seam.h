// The border between the answered functions of the CUDA driver and whoever records them. The seam
// is libc only and stands in two libraries: in the preloaded one, which is there before anything
// looks the driver up, and in libpeakline.so for programs that were not started with it. Only one
// of the two is in use. Plain C types.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum PeaklineDriverCall : uint32_t {
    kPeaklineRequest = 1,        // kind and key say what was given
    kPeaklineFree = 2,           // key says what is to be given back; comes before the call
    kPeaklineFreed = 3,          // the call after that came back
    kPeaklineReference = 4,      // one more handle of a physical allocation
    kPeaklineContext = 5,        // made
    kPeaklineContextEnd = 6,     // key: the context; comes before the call
    kPeaklineDeviceReset = 7,    // device: all of its primary context is gone
    kPeaklineDeviceRelease = 8,  // device: its primary context may be gone
    kPeaklineModule = 9,
    kPeaklineLimit = 10,
    kPeaklineGraph = 11,
    kPeaklineTrim = 12,
    kPeaklineRefused = 13,  // a request for physical memory of a device: too little is free
    kPeaklineContextGone =
        14,  // after kPeaklineContextEnd and kPeaklineDeviceReset: the call came back
};
// What a key names.
enum PeaklineKeySpace : uint32_t {
    kPeaklineAddress = 0,
    kPeaklineHandle = 1,  // of physical memory
    kPeaklineMapping = 2,
    kPeaklineArray = 3,
    kPeaklinePool = 4,
    kPeaklineExternal = 5,
};
inline constexpr uint32_t kPeaklineKeySpaceCount = 6;
inline constexpr int32_t kPeaklineCurrentDevice = -1;

struct PeaklineDriverEvent {
    uint32_t call;   // PeaklineDriverCall
    uint32_t space;  // PeaklineKeySpace
    uint64_t kind;   // of a request: format::DriverKind
    uint64_t key;
    uint64_t bytes;
    uint64_t owner;   // the physical handle of a mapping; the pool of an asynchronous request, 0:
                      // the device's current one
    uint64_t stream;  // of an asynchronous request
    int32_t device;   // kPeaklineCurrentDevice: that of the current context
    int32_t is_asynchronous;
};

// All on the thread that calls the driver; a call of the driver within is not reported.
struct PeaklineDriverListener {
    // Before a call that takes more memory of the device than it says.
    void (*before)();
    void (*on_event)(const PeaklineDriverEvent* event);
};
// nullptr: nobody listens. Of the preloaded library where it is in the process: both libraries
// export it, and the loader finds that one first.
void peakline_driver_listen(const PeaklineDriverListener* listener);
// Calls of the driver on all threads: begun so far, and not over.
struct PeaklineDriverCalls {
    uint64_t begun;
    uint64_t in_flight;
};
PeaklineDriverCalls peakline_driver_calls();
// Whether this thread is within a call of the driver.
int32_t peakline_driver_is_calling();
// Of the preloaded library: called once, when a context was made or memory was given and nobody
// listens.
__attribute__((visibility("hidden"))) void peakline_driver_first_use();

// The real function of this name, or nullptr where the driver is not loaded or has none.
void* peakline_driver_function(const char* symbol);

// What stands for a function of the driver that is imported by name, or nullptr.
void* peakline_driver_replacement(const char* symbol);

// What stands for dlsym in the import tables of libraries: jumps there where the name is not ours.
void* peakline_driver_dlsym(void* handle, const char* name);

}  // extern "C"
