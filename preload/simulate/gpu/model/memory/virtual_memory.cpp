// Reservations, blocks and mappings with the checks that the driver documents.

#include "model/memory/virtual_memory.h"

#include <iterator>

namespace simgpu {

VirtualMemory& VirtualMemory::instance() {
    static auto* const memory = new VirtualMemory;
    return *memory;
}

CUresult VirtualMemory::reserve(size_t bytes, size_t alignment, uintptr_t* start) {
    const bool is_power_of_two = (alignment & (alignment - 1)) == 0;
    if (bytes == 0 || bytes % kGranuleBytes != 0 || !is_power_of_two) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const AddressArena arena =
        reserve_addresses(bytes, alignment > kGranuleBytes ? alignment : kGranuleBytes);
    if (arena.bytes == 0) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    reservations_[arena.start] = arena;
    World::instance().add_device_addresses(arena);
    *start = arena.start;
    return CUDA_SUCCESS;
}

CUresult VirtualMemory::unreserve(uintptr_t start, size_t bytes) {
    const auto found = reservations_.find(start);
    if (found == reservations_.end() || found->second.bytes != bytes ||
        overlaps_mapping(start, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    World::instance().remove_device_addresses(start);
    unreserve_addresses(found->second);
    reservations_.erase(found);
    return CUDA_SUCCESS;
}

CUresult VirtualMemory::create(size_t bytes,
                               const CUmemAllocationProp& properties,
                               PhysicalBlock** block) {
    World& world = World::instance();
    if (bytes == 0 || bytes % kGranuleBytes != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    auto created = std::make_unique<PhysicalBlock>();
    created->bytes = bytes;
    created->properties = properties;
    if (created->is_on_device()) {
        if (!world.has_device(properties.location.id)) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        if (!world.device(properties.location.id).charge(bytes)) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    *block = created.release();
    blocks_.insert(*block);
    return CUDA_SUCCESS;
}

CUresult VirtualMemory::adopt(size_t bytes,
                              const CUmemAllocationProp& properties,
                              PhysicalBlock** block) {
    if (!World::instance().has_device(properties.location.id)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *block = new PhysicalBlock{bytes, properties, 1, 0, true};
    blocks_.insert(*block);
    return CUDA_SUCCESS;
}

void VirtualMemory::drop_if_unused(PhysicalBlock* block) {
    if (block->handle_count > 0 || block->mapping_count > 0) {
        return;
    }
    if (block->is_on_device() && !block->is_imported) {
        World::instance().device(block->properties.location.id).discharge(block->bytes);
    }
    blocks_.erase(block);
    delete block;
}

CUresult VirtualMemory::release_handle(PhysicalBlock* block) {
    if (!is_block(block) || block->handle_count == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    --block->handle_count;
    drop_if_unused(block);
    return CUDA_SUCCESS;
}

bool VirtualMemory::is_reserved(uintptr_t start, size_t bytes) const {
    const auto after = reservations_.upper_bound(start);
    if (after == reservations_.begin()) {
        return false;
    }
    const AddressArena& arena = std::prev(after)->second;
    return start + bytes <= arena.start + arena.bytes;
}

bool VirtualMemory::overlaps_mapping(uintptr_t start, size_t bytes) const {
    const auto after = mappings_.lower_bound(start + bytes);
    if (after == mappings_.begin()) {
        return false;
    }
    const auto last = std::prev(after);
    return last->first + last->second.bytes > start;
}

CUresult VirtualMemory::map(uintptr_t start,
                            size_t bytes,
                            size_t offset_bytes,
                            PhysicalBlock* block) {
    // The driver documents that the offset must be zero for now, and the size that of the block.
    if (!is_block(block) || offset_bytes != 0 || bytes != block->bytes ||
        !is_reserved(start, bytes) || overlaps_mapping(start, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    ++block->mapping_count;
    mappings_[start] = {bytes, block, false};
    World::instance().add_mapping(
        start, bytes, block->is_on_device() ? block->properties.location.id : 0);
    return CUDA_SUCCESS;
}

CUresult VirtualMemory::unmap(uintptr_t start, size_t bytes) {
    const auto first = mappings_.find(start);
    auto last = first;
    uintptr_t end = start;
    while (last != mappings_.end() && last->first == end && end < start + bytes) {
        end += last->second.bytes;
        ++last;
    }
    if (first == mappings_.end() || end != start + bytes) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (auto mapping = first; mapping != last; mapping = mappings_.erase(mapping)) {
        World::instance().remove_mapping(mapping->first);
        PhysicalBlock* const block = mapping->second.block;
        --block->mapping_count;
        drop_if_unused(block);
    }
    return CUDA_SUCCESS;
}

CUresult VirtualMemory::set_access(uintptr_t start, size_t bytes) {
    uintptr_t end = start;
    auto mapping = mappings_.find(start);
    for (; mapping != mappings_.end() && mapping->first == end && end < start + bytes; ++mapping) {
        mapping->second.has_access = true;
        end += mapping->second.bytes;
    }
    return end == start + bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult VirtualMemory::get_access(uintptr_t address, unsigned long long* flags) const {
    const auto after = mappings_.upper_bound(address);
    if (after == mappings_.begin()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Mapping& mapping = std::prev(after)->second;
    *flags =
        mapping.has_access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

CUresult VirtualMemory::retain_mapped(uintptr_t address, PhysicalBlock** block) {
    const auto after = mappings_.upper_bound(address);
    if (after == mappings_.begin()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const auto mapping = std::prev(after);
    if (address >= mapping->first + mapping->second.bytes) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *block = mapping->second.block;
    ++(*block)->handle_count;
    return CUDA_SUCCESS;
}

}  // namespace simgpu
