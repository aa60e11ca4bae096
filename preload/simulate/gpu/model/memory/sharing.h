// Memory and events of another process on this machine: what a handle says, and what this process
// has opened. Nothing is behind an opened address, and the memory is charged where it was
// allocated: each process has accounts of its own. The world's lock guards every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <cuda.h>

#include "model/memory/virtual_memory.h"

namespace simgpu {

// The text of a CUipcMemHandle or CUipcEventHandle, and of the file behind a shareable block.
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
    // Opening once more gives the same address; it is closed as often as it was opened.
    CUresult open(const SharedHandle& handle, uintptr_t* start);
    CUresult close(uintptr_t start);

    // A file whose descriptor stands for a block, and the block that such a file stands for.
    CUresult export_block(PhysicalBlock* block, int* file) const;
    CUresult import_block(int file, PhysicalBlock** block) const;

private:
    struct Opened {
        SharedHandle handle{};
        int open_count = 0;
    };
    std::map<uintptr_t, Opened> opened_;  // by address here
};

// Null marks and other libraries' handles are refused.
inline constexpr uint64_t kMemoryMark = 0x70656b6c6d656d31;  // "peklmem1"
inline constexpr uint64_t kEventMark = 0x70656b6c65767431;   // "peklevt1"

}  // namespace simgpu
