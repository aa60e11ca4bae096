// The blocks of the allocator model: pieces of segments, with the free ones in order. Used by
// allocator_model only.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <set>
#include <vector>

namespace peakline::report {

// An index of blocks, expandable segments or pools; -1: none.
using ModelIndex = int32_t;
inline constexpr ModelIndex kNoIndex = -1;

struct ModelBlock {
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint64_t stream = 0;  // handle
    uint64_t ordinal = 0;
    int64_t put_at_search = 0;     // searches of its pool before it was put there
    ModelIndex before = kNoIndex;  // neighbours in the segment
    ModelIndex after = kNoIndex;
    ModelIndex expandable = kNoIndex;  // its segment; kNoIndex: a plain one
    uint32_t pool = 0;
    uint32_t segment_number = 0;  // in the order of creation
    bool is_allocated = false;
    bool is_waiting = false;  // freed by the program, in use by another stream
    bool is_mapped = true;

    bool is_free() const { return !is_allocated && !is_waiting; }
    bool is_whole() const { return before == kNoIndex && after == kNoIndex; }
};

// The sort key of a free block in its pool.
struct FreeKey {
    uint64_t stream;
    uint64_t bytes;
    uint64_t address;
    uint32_t order;  // the segment's number, or 0 when the address decides
    ModelIndex block;

    bool operator<(const FreeKey& other) const {
        if (stream != other.stream) {
            return stream < other.stream;
        }
        if (bytes != other.bytes) {
            return bytes < other.bytes;
        }
        return order != other.order ? order < other.order : address < other.address;
    }
};

// Address space of an expandable segment that has no memory.
struct UnmappedKey {
    uint64_t stream;
    uint64_t address;
    ModelIndex block;

    bool operator<(const UnmappedKey& other) const {
        return stream != other.stream ? stream < other.stream : address < other.address;
    }
};

// Small or large blocks of the default pool or of a private one.
struct ModelPool {
    bool is_small;
    ModelIndex owner;  // private pool; kNoIndex: the default one
    std::pmr::set<FreeKey> blocks;
    std::pmr::set<UnmappedKey> unmapped;
    int64_t search_count = 0;

    ModelPool(bool small, ModelIndex private_pool, std::pmr::memory_resource* nodes)
        : is_small(small), owner(private_pool), blocks(nodes), unmapped(nodes) {}
};

// A private pool, of a graph or made by the program.
struct PrivatePool {
    uint64_t number = 0;  // format::pool_number()
    uint64_t owner_count = 0;
    int64_t segment_count = 0;
    bool is_released = false;  // by every owner: its free segments may be released
    bool is_alive = true;
    bool serves_others = false;
    bool is_never_split = false;
    bool has_own_allocator = false;
};

struct ExpandableSegment {
    uint64_t base = 0;
    uint64_t unit_bytes = 0;
};

// Reused slots of blocks.
class BlockSlots {
public:
    ModelIndex add(const ModelBlock& block) {
        if (spare_.empty()) {
            blocks_.push_back(block);
            return static_cast<ModelIndex>(blocks_.size() - 1);
        }
        const ModelIndex index = spare_.back();
        spare_.pop_back();
        (*this)[index] = block;
        return index;
    }
    void remove(ModelIndex index) { spare_.push_back(index); }
    // Valid until the next add.
    ModelBlock& operator[](ModelIndex index) { return blocks_[static_cast<size_t>(index)]; }
    const ModelBlock& operator[](ModelIndex index) const {
        return blocks_[static_cast<size_t>(index)];
    }

private:
    std::vector<ModelBlock> blocks_;
    std::vector<ModelIndex> spare_;
};

}  // namespace peakline::report
