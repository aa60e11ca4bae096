// Memory and events of other processes on this machine: handles, and the memory that this process
// has opened. An opened address has no memory. The memory is charged where it was allocated: each
// process has its own accounts. The world's lock guards every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <cuda.h>

#include "model/memory/virtual_memory.h"

namespace simgpu {

// Contents of a CUipcMemHandle or CUipcEventHandle, and of the file of a shareable block.
struct SharedHandle {
    uint64_t mark;
    int32_t process;
    int32_t device;
    uint64_t id;  // of the allocation or event in its process
    uint64_t bytes;
};

class SharedMemory {
public:
    static SharedMemory& instance();

    CUresult describe(uintptr_t address, SharedHandle* handle) const;
    // Opening it again gives the same address. It needs one close per open.
    CUresult open(const SharedHandle& handle, uintptr_t* start);
    CUresult close(uintptr_t start);

    // Exports a block as a descriptor, and imports the block of such a descriptor.
    CUresult export_block(PhysicalBlock* block, int* file) const;
    CUresult import_block(int file, PhysicalBlock** block) const;

private:
    struct Opened {
        SharedHandle handle{};
        int open_count = 0;
    };
    std::map<uintptr_t, Opened> opened_;  // by address here
};

// Handles with other marks are rejected.
inline constexpr uint64_t kMemoryMark = 0x70656b6c6d656d31;  // "peklmem1"
inline constexpr uint64_t kEventMark = 0x70656b6c65767431;   // "peklevt1"

}  // namespace simgpu
