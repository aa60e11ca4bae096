// Adds blocks and pieces to the map of a page: at once, or when a kept moment has them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "page_contexts.h"
#include "page_map.h"
#include "report/replay/all_facts.h"
#include "report/replay/blocks/block_stream.h"
#include "report/replay/blocks/ordinal_table.h"
#include "report/views/segments/segment_pieces.h"

namespace peakline::report {

class MapBuilder {
public:
    // All must outlive this.
    MapBuilder(const BlockStream& stream,
               uint32_t device,
               const AllFacts& facts,
               PageContexts& contexts);

    // Call it before each event.
    void begin_event(uint64_t tick) { tick_ = tick; }
    // Adds a block of the device.
    void add(const BlockAlloc& block);
    // `at_exit`: freed after the program ended, so its life is not shown.
    void free(const BlockFree& block, bool at_exit);
    void on_rare(const RareEvent& event);

    // Adds the whole current state.
    void put_now();
    // Keeps every change from here on.
    void keep_all();

    PageMap& map() { return map_; }

private:
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Slot {
        uint64_t address = 0;
        uint64_t made_tick = 0;
        uint64_t rounded_bytes = 0;
        uint32_t id = kNone;  // in the map
        bool is_waiting = false;
        bool is_put_waiting = false;
    };

    void change(MapChangeKind kind, uint32_t id, uint64_t tick) {
        map_.changes.push_back({kind, id, tick});
    }
    void put_block(uint64_t ordinal, const AllocationShape& shape);
    void put_waiting(Slot& slot);
    void put_gone();
    void put_pieces();
    void put_pools();
    uint32_t pool_id(uint64_t pool);

    const BlockStream& stream_;
    const AllFacts& facts_;
    PageContexts& contexts_;
    OrdinalTable slot_of_;  // of live blocks, plus one
    SlotPool<Slot> slots_;
    SegmentPieces pieces_;
    bool has_moved_ = false;                  // since pieces were added
    std::map<uint64_t, uint32_t> piece_ids_;  // by serial
    std::map<uint64_t, uint32_t> pool_ids_ = {{0, 0}};
    std::set<uint64_t> used_;
    std::vector<uint32_t> gone_;  // blocks of the map
    bool keeps_all_ = false;
    uint64_t tick_ = 0;
    uint64_t moved_tick_ = 0;  // of the last record of segments and pools
    PageMap map_;
};

}  // namespace peakline::report
