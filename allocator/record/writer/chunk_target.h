// Where chunks of a trace go: a preallocated file mapped chunk by chunk, or memory. A trace writer
// asks for chunks one after another and says when each is finished. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/format/trace_format.h"
#include "allocator/record/tables/mapped_array.h"

namespace peakline::record {

class ChunkTarget {
public:
    // Room for chunk `index` (kChunkBytes, page aligned; zeroed, in memory unless used before), or
    // nullptr with error() set.
    virtual unsigned char* open_chunk_slow(uint64_t index) = 0;
    virtual void close_chunk(uint64_t index, unsigned char* chunk) = 0;
    // Makes a closed chunk one that was never used: its header becomes zero.
    virtual void clear_chunk_slow(uint64_t index) = 0;
    // Cuts what was preallocated and not used, also behind the first `last_chunk_bytes` of the last
    // chunk, which is closed; later chunks may still be opened.
    virtual void trim(uint64_t chunk_count, uint64_t last_chunk_bytes) = 0;
    // errno of the last failure, 0 when there was none.
    virtual int error() const = 0;

protected:
    ~ChunkTarget() = default;
};

class FileTarget final : public ChunkTarget {
public:
    enum class Exists { kFail, kReplace };

    // Creates the file with this superblock, and locks it (flock) until it is closed. False with
    // error() set; nothing is left behind, and an old file is then as it was.
    bool create(const char* path, const format::Superblock& superblock, Exists exists);
    bool is_open() const { return descriptor_ >= 0; }
    // The file has no name any more: it was removed or replaced, and goes when we close it.
    bool is_lost() const;
    // Closes without touching the content. After fork the child calls this: the file is its
    // parent's.
    void abandon();

    unsigned char* open_chunk_slow(uint64_t index) override;
    void close_chunk(uint64_t index, unsigned char* chunk) override;
    void clear_chunk_slow(uint64_t index) override;
    void trim(uint64_t chunk_count, uint64_t last_chunk_bytes) override;
    int error() const override { return error_; }

private:
    bool create_new(const char* path, const format::Superblock& superblock);
    // The kernel gives real blocks now: a sparse file would raise SIGBUS in the program when the
    // disk is full.
    bool allocate_slow(uint64_t end_bytes);

    int descriptor_ = -1;
    int error_ = 0;
    uint64_t allocated_bytes_ = 0;
};

// A whole trace in memory, for reports that need no file.
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
