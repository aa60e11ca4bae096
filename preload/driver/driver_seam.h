// The border between our replacements of CUDA driver functions and the code that records them. The
// seam is libc only and part of two libraries: the preloaded one, which is present before any
// driver lookup, and libpeakline.so for programs started without it. Only one of the two is in use.
// Plain C types.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum PeaklineDriverCall : uint32_t {
    kPeaklineRequest = 1,        // kind and key describe the memory
    kPeaklineFree = 2,           // key: the memory to free; comes before the call
    kPeaklineFreed = 3,          // that call returned
    kPeaklineReference = 4,      // one more handle of a physical allocation
    kPeaklineContext = 5,        // created
    kPeaklineContextEnd = 6,     // key: the context; comes before the call
    kPeaklineDeviceReset = 7,    // the device's primary context is gone
    kPeaklineDeviceRelease = 8,  // the device's primary context may be gone
    kPeaklineModule = 9,
    kPeaklineLimit = 10,
    kPeaklineGraph = 11,
    kPeaklineTrim = 12,
    kPeaklineRefused = 13,  // a request for physical memory of a device: too little is free
    kPeaklineContextGone =
        14,                  // the call after kPeaklineContextEnd or kPeaklineDeviceReset returned
    kPeaklineExported = 15,  // key: memory of this process, or an address in it
};
// The kind of handle or address in a key.
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
    // The same number in each process that shares the memory; 0: there is none.
    uint64_t shared_number;
};

// Called on the thread that calls the driver. Nested driver calls are not reported.
struct PeaklineDriverListener {
    // Before a call that takes more device memory than its arguments state.
    void (*before)();
    void (*on_event)(const PeaklineDriverEvent* event);
};
// nullptr removes the listener. Both libraries export this function; if the preloaded one is in the
// process, the loader finds that one first.
void peakline_driver_listen(const PeaklineDriverListener* listener);
// Driver calls of all threads: those begun so far, and those still running.
struct PeaklineDriverCalls {
    uint64_t begun;
    uint64_t in_flight;
};
PeaklineDriverCalls peakline_driver_calls();
// Whether this thread is inside a driver call.
int32_t peakline_driver_is_calling();
// In the preloaded library: called once, when a context or memory was created without a listener.
__attribute__((visibility("hidden"))) void peakline_driver_first_use();

// The real function of this name, or nullptr if the driver is not loaded or lacks it.
void* peakline_driver_function(const char* symbol);

// Our replacement for a driver function that is imported by name, or nullptr.
void* peakline_driver_replacement(const char* symbol);

// Replaces dlsym in import tables. Jumps to the real one for names that are not the driver's.
void* peakline_driver_dlsym(void* handle, const char* name);

}  // extern "C"
