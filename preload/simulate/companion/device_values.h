// The simulated GPU's functions about values (preload/simulate/gpu/driver/companion.h), found by
// name. This library may also be loaded without a simulated GPU and then does nothing.
#pragma once

#include <cstddef>

namespace peakline::simulated {

// The kind of value that is read: see preload/simulate/gpu/driver/companion.h.
enum ReadKind : int { kReadsOther = 0, kReadsSize = 1, kReadsNumber = 2 };
// Parts of the kind of values that are written, and of their origin: as above.
enum ValueKind : int {
    kDerivedValues = 0,
    kExactValues = 1,
    kChosenValues = 2,
    kZeroValues = 4,
    kTrueValues = 8,
};
// Results of DeviceValues::read, besides 0 and 1.
enum ReadResult : int { kBeingDelivered = -2, kExact = 2 };
using ReadListener = void (*)(const char* operators, size_t bytes, int kind);

struct DeviceValues {
    void (*set_read_handler)(void (*handler)(void* host, size_t bytes));
    void (*set_operator)(int launches_are_reported, int reads_are_guessed);
    int (*read)(const void* device, size_t bytes, void* host);
    void (*write)(void* device, size_t bytes, const void* host, int kind);
    void (*zero)(void* device, size_t bytes);
    void (*set_true)(void* device, size_t bytes);
    int (*origin)(const void* device, size_t bytes);
    void (*keep_large)(size_t max_bytes);
    void (*forget)(void* device, size_t bytes);
    void (*begin_block)(void* device, size_t bytes);
    int (*is_capturing)();
    void (*await)(const void* device, size_t bytes);
    int (*may_await_others)();
    ReadListener (*get_read_listener)();
};

// nullptr: this is not a simulated GPU.
const DeviceValues* device_values();

}  // namespace peakline::simulated
