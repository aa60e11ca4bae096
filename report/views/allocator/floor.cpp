#include "floor.h"

#include <algorithm>

#include "report/replay/allocator_model/allocator_settings.h"
#include "report/replay/blocks/block_stream.h"

namespace peakline::report {
namespace {

uint64_t least_bytes_of(const AllocationShape& shape) {
    return in_least_blocks(shape.requested_bytes);
}

class FloorFollower : public BlockFollower {
public:
    explicit FloorFollower(uint32_t device) : device_(device) {}

    void restore(const Checkpoint& checkpoint) {
        for (const BaselineBlock& block : checkpoint.blocks) {
            add(block.shape);
        }
    }
    void on_alloc(const BlockAlloc& block) { add(block.shape); }
    void on_free(const BlockFree& block) {
        if (block.shape.device == device_ && block.leaves(format::Measure::kAllocated)) {
            level_ -= least_bytes_of(block.shape);
        }
    }
    uint64_t highest() const { return highest_; }

private:
    void add(const AllocationShape& shape) {
        if (shape.device == device_) {
            level_ += least_bytes_of(shape);
            highest_ = std::max(highest_, level_);
        }
    }

    uint32_t device_;
    uint64_t level_ = 0;
    uint64_t highest_ = 0;
};

}  // namespace

uint64_t floor_of_blocks(const TraceReader& reader, uint32_t device, const Progress& progress) {
    BlockStream stream(reader);
    FloorFollower levels(device);
    stream.run(progress, levels);
    return levels.highest();
}

}  // namespace peakline::report
