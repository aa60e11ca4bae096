// A whole trace in memory, for reports that need no file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/tables/mapped_array.h"
#include "chunk_target.h"

namespace peakline::record {

class MemoryTarget final : public ChunkTarget {
public:
    bool create(const format::Superblock& superblock);
    unsigned char* open_chunk_slow(uint64_t index) override;
    void close_chunk(uint64_t, unsigned char*) override {}
    void clear_chunk_slow(uint64_t index) override;
    void trim(uint64_t, uint64_t) override {}
    int error() const override { return error_; }
    const unsigned char* data() const { return bytes_.data(); }
    size_t size() const { return bytes_.size(); }

private:
    int error_ = 0;
    MappedArray<unsigned char> bytes_;
};

}  // namespace peakline::record
