// Virtual memory management (cuMemAddressReserve, cuMemCreate, cuMemMap): reservations, physical
// blocks and their mappings. Memory is charged when a block is created, and discharged when its
// last handle and last mapping are gone. The world's lock guards every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_set>

#include <cuda.h>

#include "model/memory/world.h"

namespace simgpu {

struct PhysicalBlock {
    size_t bytes = 0;
    CUmemAllocationProp properties{};
    int handle_count = 1;
    int mapping_count = 0;
    bool is_imported = false;  // charged in the process that created it

    bool is_on_device() const { return properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE; }
};

class VirtualMemory {
public:
    static VirtualMemory& instance();

    CUresult reserve(size_t bytes, size_t alignment, uintptr_t* start);
    CUresult unreserve(uintptr_t start, size_t bytes);
    CUresult create(size_t bytes, const CUmemAllocationProp& properties, PhysicalBlock** block);
    // Adds a block of another process.
    CUresult adopt(size_t bytes, const CUmemAllocationProp& properties, PhysicalBlock** block);
    CUresult release_handle(PhysicalBlock* block);
    CUresult map(uintptr_t start, size_t bytes, size_t offset_bytes, PhysicalBlock* block);
    CUresult unmap(uintptr_t start, size_t bytes);
    CUresult set_access(uintptr_t start, size_t bytes);
    CUresult get_access(uintptr_t address, unsigned long long* flags) const;
    // Adds a handle to the block mapped at this address.
    CUresult retain_mapped(uintptr_t address, PhysicalBlock** block);
    bool is_block(PhysicalBlock* block) const { return blocks_.count(block) != 0; }

private:
    struct Mapping {
        size_t bytes = 0;
        PhysicalBlock* block = nullptr;
        bool has_access = false;
    };

    void drop_if_unused(PhysicalBlock* block);
    bool is_reserved(uintptr_t start, size_t bytes) const;
    bool overlaps_mapping(uintptr_t start, size_t bytes) const;

    std::map<uintptr_t, AddressArena> reservations_;
    std::map<uintptr_t, Mapping> mappings_;
    std::unordered_set<PhysicalBlock*> blocks_;
};

}  // namespace simgpu
