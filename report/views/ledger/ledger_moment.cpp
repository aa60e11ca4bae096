#include "ledger_moment.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "report/views/segments/live_addresses.h"
#include "report/views/segments/segment_pieces.h"

namespace peakline::report {
namespace {

class LedgerFollower : public BlockFollower {
public:
    LedgerFollower(const BlockStream& stream, const MomentEvent& moment)
        : stream_(stream),
          moment_(moment),
          addresses_(stream),
          pieces_(stream.definitions(), moment.device),
          memory_(moment.device) {}

    void restore(const Checkpoint& checkpoint) {
        addresses_.restore(checkpoint, moment_.device);
        pieces_.restore(checkpoint);
        memory_.restore(checkpoint);
    }
    void before_event(EventTime at) {
        if (!taken_ && (at.event > moment_.event || at.tick > moment_.last_tick)) {
            take();
        }
    }
    void on_alloc(const BlockAlloc& block) {
        if (!taken_ && block.shape.device == moment_.device) {
            addresses_.on_alloc(block);
        }
    }
    void on_free(const BlockFree& block) {
        if (!taken_ && block.shape.device == moment_.device) {
            addresses_.on_free(block);
        }
    }
    void on_rare(const RareEvent& event, EventTime) {
        if (!taken_) {
            pieces_.on_rare(event);
        }
        memory_.apply(event);
        if (taken_) {
            look_ahead(event);
        }
    }

    // Call it after the pass.
    LedgerMoment finish() {
        if (!taken_) {
            take();
        }
        return *std::move(taken_);
    }

private:
    void take() {
        taken_ = LedgerMoment{memory_};
        taken_->segments = TorchSegments(pieces_.joined());
        addresses_.for_each([&](uint64_t ordinal, const AllocationShape& shape, uint64_t address) {
            taken_->blocks.push_back(
                {address, shape.block_bytes, stream_.table().is_deferred(ordinal)});
        });
        std::sort(taken_->blocks.begin(),
                  taken_->blocks.end(),
                  [](const TorchBlock& a, const TorchBlock& b) { return a.address < b.address; });
    }

    void look_ahead(const RareEvent& event) {
        const auto sample = event.as<format::DriverSample>();
        // Memory of others looks like growth until NVML reports it, which may be a sample later.
        const bool knows_others = memory_.other_bytes().has_value();
        if (sample && sample->device == moment_.device &&
            (!is_next_seen_ || (knows_others && !knew_others_))) {
            is_next_seen_ = true;
            knew_others_ = knows_others;
            taken_->next_growth_bytes =
                memory_.step_bytes(Step::kGrowth) - taken_->memory.step_bytes(Step::kGrowth);
        }
        if (!taken_->memory.other_bytes() && !taken_->next_other_bytes && memory_.other_bytes()) {
            taken_->next_other_bytes = memory_.first_other_bytes();
        }
    }

    const BlockStream& stream_;
    const MomentEvent& moment_;
    LiveAddresses addresses_;
    SegmentPieces pieces_;
    DriverMemory memory_;  // continues after the moment
    std::optional<LedgerMoment> taken_;
    bool is_next_seen_ = false;
    bool knew_others_ = false;  // at that sample
};

}  // namespace

LedgerMoment find_ledger_moment(const TraceReader& reader,
                                const MomentEvent& moment,
                                const Progress& progress) {
    BlockStream stream(reader);
    LedgerFollower follower(stream, moment);
    stream.run(progress, follower);
    return follower.finish();
}

}  // namespace peakline::report
