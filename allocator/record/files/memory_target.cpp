#include "memory_target.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace peakline::record {
namespace {

constexpr size_t kCapacity = size_t{1} << 32;

}  // namespace

bool MemoryTarget::create(const format::Superblock& superblock) {
    if (!bytes_.reserve(kCapacity) || !bytes_.resize_untouched(format::kSuperblockBytes)) {
        error_ = ENOMEM;
        return false;
    }
    std::memcpy(bytes_.data(), &superblock, sizeof superblock);
    return true;
}

unsigned char* MemoryTarget::open_chunk_slow(uint64_t index) {
    const size_t end = std::max<size_t>(chunk_offset(index + 1), bytes_.size());
    if (!bytes_.resize_untouched(end)) {
        error_ = ENOMEM;
        return nullptr;
    }
    return bytes_.data() + chunk_offset(index);
}

void MemoryTarget::clear_chunk_slow(uint64_t index) {
    std::memset(bytes_.data() + chunk_offset(index), 0, sizeof(format::ChunkHeader));
}

}  // namespace peakline::record
