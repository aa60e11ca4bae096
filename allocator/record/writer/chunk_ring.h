// The chunks of a bounded trace: those with kept data, oldest first, and the free ones for reuse. A
// segment is a checkpoint and the events after it; only whole segments are released. Used by the
// trace writer under the recorder's lock. Never calls malloc.
#pragma once

#include <cstdint>

#include "allocator/record/tables/mapped_array.h"

namespace peakline::record {

class ChunkRing {
public:
    // Room for `capacity` chunks, a power of two. False when memory cannot be mapped.
    bool init(size_t capacity) {
        head_ = tail_ = segment_count_ = 0;
        free_.clear();
        return uses_.capacity() >= capacity ||
               (uses_.reserve(capacity) && uses_.resize_untouched(capacity) &&
                free_.reserve(capacity));
    }

    // False if no chunk is free: the file must grow.
    bool take_free(uint64_t* index) {
        if (free_.size() == 0) {
            return false;
        }
        *index = free_[free_.size() - 1];
        return free_.resize_untouched(free_.size() - 1);
    }

    // Adds the chunk to the newest segment. False when there is no room to remember it.
    bool add(uint64_t index) {
        if (tail_ - head_ == uses_.size()) {
            return false;
        }
        uses_[tail_++ & (uses_.size() - 1)] = Use{index, segment_begins_};
        segment_begins_ = false;
        return true;
    }

    // The next chunk added begins a segment.
    void begin_segment() {
        segment_begins_ = true;
        ++segment_count_;
    }

    // Releases the oldest segment, its checkpoint first: clear(index) makes a chunk unreadable.
    template <class Clear>
    void release_oldest(Clear clear) {
        bool is_first = true;
        for (; head_ != tail_; ++head_, is_first = false) {
            const Use& use = uses_[head_ & (uses_.size() - 1)];
            if (use.begins_segment && !is_first) {
                break;
            }
            clear(use.index);
            free_.push(use.index);
        }
        --segment_count_;
    }

    size_t segment_count() const { return segment_count_; }
    size_t free_count() const { return free_.size(); }

private:
    struct Use {
        uint64_t index;
        bool begins_segment;
    };

    MappedArray<Use> uses_;  // circular: [head_, tail_)
    MappedArray<uint64_t> free_;
    size_t head_ = 0;
    size_t tail_ = 0;
    size_t segment_count_ = 0;
    bool segment_begins_ = false;
};

}  // namespace peakline::record
