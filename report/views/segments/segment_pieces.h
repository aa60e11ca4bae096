// Follows the pieces of torch's segments on one device event by event, with their private pools,
// the pools' owners, and the current settings.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "allocator_state.h"
#include "report/replay/allocator_model/allocator_settings.h"
#include "report/trace/reader.h"

namespace peakline::report {

class SegmentPieces {
public:
    using ByAddress = std::map<uint64_t, StateSegment>;  // without their blocks
    struct Change {
        bool is_added = false;
        uint64_t serial = 0;
        uint64_t address = 0;
    };

    // `definitions` must outlive this. `keeps_changes` enables take_changes(), for callers that
    // follow every piece.
    SegmentPieces(const Definitions& definitions, uint32_t device, bool keeps_changes = false);

    // Call it before the first event of a stream that begins at a checkpoint.
    void restore(const Checkpoint& checkpoint);
    void on_rare(const RareEvent& event);

    const ByAddress& by_address() const { return pieces_; }
    uint64_t bytes() const { return bytes_; }
    // The serial of the newest piece; later pieces have higher ones.
    uint64_t last_serial() const { return serial_; }
    const AllocatorSettings& settings() const { return settings_; }
    // Joins neighbouring pieces of an expandable segment; sorted by address.
    std::vector<StateSegment> joined() const;
    // Private pools that have an owner now.
    std::set<uint64_t> used_pools() const;
    // Pieces added and removed since the last call. The pool of a new piece follows in its own
    // record: read it after later events.
    std::vector<Change> take_changes() { return std::exchange(changes_, {}); }

private:
    void apply(const format::Segment& segment);
    void cut(uint64_t begin, uint64_t end);
    void put(StateSegment piece);
    void count(const format::AllocatorCall& call);

    const Definitions& definitions_;
    uint32_t device_;
    bool keeps_changes_;
    AllocatorSettings settings_;
    ByAddress pieces_;
    ByAddress::iterator last_ = pieces_.end();  // the next record may describe it
    std::map<uint64_t, uint64_t> owners_;       // owners of private pools
    uint64_t serial_ = 0;
    uint64_t bytes_ = 0;  // of all pieces
    std::vector<Change> changes_;
};

}  // namespace peakline::report
