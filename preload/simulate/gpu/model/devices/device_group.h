// The processes that share the simulated devices: those of one `peakline run`, or of several with
// the same --device-group. PEAKLINE_SIM_GROUP names a file with the bytes that each process uses
// of each device; it is mapped, so that a killed process leaves its bytes for the others to find.
// Without it a process has its devices to itself.
//
// Note [Processes that share a device]
// A process has one slot, and only it adds to its slot. A slot whose process has ended, however it
// ended, counts for nothing and is given to the next process. A process is known by its number and
// its start time, because numbers are used again. A lock makes a request that fits beside those
// of others fit only once; a holder that was killed loses it. A process is looked up only if a
// request does not fit, or the use of the others is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simgpu {

struct ProcessUse {
    int pid = 0;
    size_t bytes = 0;
};

class DeviceGroup {
public:
    static DeviceGroup& instance();

    // Takes memory of a device for this process. False when the use of all processes would be above
    // `limit_bytes`.
    bool take(int device, size_t bytes, size_t limit_bytes);
    void give(int device, size_t bytes);
    // The other processes that use a device.
    std::vector<ProcessUse> others(int device);
    size_t others_bytes(int device);

private:
    struct File;
    struct Slot;

    DeviceGroup();
    // The slot of this process, taken on first use and again in a forked child. Null: not shared.
    Slot* own_slot();
    Slot* take_slot(int pid, uint64_t start_time);

    File* file_ = nullptr;
    Slot* own_ = nullptr;
    int own_pid_ = 0;
};

}  // namespace simgpu
