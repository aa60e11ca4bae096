#include "map_builder.h"

#include <utility>

namespace peakline::report {

MapBuilder::MapBuilder(const BlockStream& stream,
                       uint32_t device,
                       const AllFacts& facts,
                       PageContexts& contexts)
    : stream_(stream),
      facts_(facts),
      contexts_(contexts),
      slot_of_(stream.reader().max_alloc_count()),
      pieces_(stream.definitions(), device, true) {}

void MapBuilder::add(const BlockAlloc& block) {
    if (keeps_all_) {
        put_pieces();
    }
    const AllocationShape& shape = block.shape;
    const uint64_t rounded =
        rounded_request(pieces_.settings(), shape.requested_bytes, shape.block_bytes);
    const Slot slot = {block.address, block.at.tick, rounded};
    slot_of_.put(block.ordinal, slots_.add(slot) + 1);
    if (keeps_all_) {
        put_block(block.ordinal, shape);
    }
}

void MapBuilder::free(const BlockFree& block, bool at_exit) {
    if (slot_of_.at(block.ordinal) == 0) {
        return;
    }
    if (keeps_all_) {
        put_pieces();
    }
    Slot& slot = slots_[slot_of_.at(block.ordinal) - 1];
    const bool is_put = slot.id != kNone;
    if (is_put && !at_exit && block.kind != FreeKind::kCompleted) {
        PageMapBlock& row = map_.blocks[slot.id];
        row.lived_ticks = block.at.tick - row.made_tick + 1;
    }
    if (block.kind == FreeKind::kDeferred) {
        slot.is_waiting = true;
        if (keeps_all_) {
            put_waiting(slot);
        }
        return;
    }
    if (is_put) {
        gone_.push_back(slot.id);
    }
    slots_.remove(slot_of_.at(block.ordinal) - 1);
    slot_of_.remove(block.ordinal);
    if (keeps_all_) {
        put_gone();
    }
}

void MapBuilder::on_rare(const RareEvent& event) {
    // The record of a pool describes the segment before it.
    if (keeps_all_ && !event.as<format::InPool>()) {
        put_pieces();
    }
    pieces_.on_rare(event);
    has_moved_ = true;
    moved_tick_ = tick_;
}

void MapBuilder::put_now() {
    put_pieces();
    put_gone();
    if (!keeps_all_) {
        slot_of_.for_each(stream_.next_ordinal(), [&](uint64_t ordinal) {
            put_block(ordinal, *stream_.table().shape(ordinal));
            put_waiting(slots_[slot_of_.at(ordinal) - 1]);
        });
    }
}

void MapBuilder::keep_all() {
    put_now();
    keeps_all_ = true;
    map_.has_every_event = true;
    map_.first_change = map_.changes.size();
}

void MapBuilder::put_block(uint64_t ordinal, const AllocationShape& shape) {
    Slot& slot = slots_[slot_of_.at(ordinal) - 1];
    if (slot.id != kNone) {
        return;
    }
    slot.id = static_cast<uint32_t>(map_.blocks.size());
    map_.blocks.push_back({slot.address,
                           shape.block_bytes,
                           shape.requested_bytes,
                           slot.rounded_bytes,
                           slot.made_tick,
                           0,
                           contexts_.of(shape, ordinal, facts_.of(ordinal))});
    change(MapChangeKind::kBlock, slot.id, tick_);
}

void MapBuilder::put_waiting(Slot& slot) {
    if (slot.is_waiting && !slot.is_put_waiting) {
        slot.is_put_waiting = true;
        change(MapChangeKind::kBlockWaits, slot.id, tick_);
    }
}

void MapBuilder::put_gone() {
    for (const uint32_t id : gone_) {
        change(MapChangeKind::kBlockGone, id, tick_);
    }
    gone_.clear();
}

// Skips pieces that were added and removed since the last call.
void MapBuilder::put_pieces() {
    if (!has_moved_) {
        return;
    }
    has_moved_ = false;
    std::map<uint64_t, uint64_t> added;  // serial to address
    for (const SegmentPieces::Change& one : pieces_.take_changes()) {
        if (one.is_added) {
            added[one.serial] = one.address;
        } else if (added.erase(one.serial) == 0) {
            change(MapChangeKind::kPieceGone, piece_ids_.at(one.serial), moved_tick_);
            piece_ids_.erase(one.serial);
        }
    }
    for (const auto& [serial, address] : added) {
        const auto id = static_cast<uint32_t>(map_.pieces.size());
        map_.pieces.push_back(pieces_.by_address().at(address));
        pool_id(map_.pieces.back().pool);
        piece_ids_[serial] = id;
        change(MapChangeKind::kPiece, id, moved_tick_);
    }
    put_pools();
}

void MapBuilder::put_pools() {
    std::set<uint64_t> used = pieces_.used_pools();
    for (const uint64_t pool : used) {
        if (used_.count(pool) == 0) {
            change(MapChangeKind::kPoolUsed, pool_id(pool), moved_tick_);
        }
    }
    for (const uint64_t pool : used_) {
        if (used.count(pool) == 0) {
            change(MapChangeKind::kPoolUnused, pool_id(pool), moved_tick_);
        }
    }
    used_ = std::move(used);
}

uint32_t MapBuilder::pool_id(uint64_t pool) {
    const auto [at, is_new] = pool_ids_.try_emplace(pool, static_cast<uint32_t>(map_.pools.size()));
    if (is_new) {
        map_.pools.push_back(pool);
    }
    return at->second;
}

}  // namespace peakline::report
