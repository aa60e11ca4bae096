#include "segment_pieces.h"

#include <string>
#include <utility>

namespace peakline::report {

SegmentPieces::SegmentPieces(const Definitions& definitions, uint32_t device, bool keeps_changes)
    : definitions_(definitions),
      device_(device),
      keeps_changes_(keeps_changes),
      settings_(
          recorded_allocator_settings(std::string(definitions.meta_text("allocator_settings")))) {}

void SegmentPieces::restore(const Checkpoint& checkpoint) {
    if (checkpoint.standing) {
        for (const RareEvent& event : checkpoint.standing->records) {
            on_rare(event);
        }
    }
}

void SegmentPieces::on_rare(const RareEvent& event) {
    if (const auto segment = event.as<format::Segment>()) {
        last_ = pieces_.end();
        if (segment->device == device_) {
            apply(*segment);
        }
    } else if (const auto pool = event.as<format::InPool>()) {
        if (last_ != pieces_.end()) {
            last_->second.pool = pool->pool;
        }
    } else if (event.type == format::ExtendedType::kRefusal) {
        last_ = pieces_.end();  // a following pool record belongs to the request
    } else if (const auto call = event.as<format::AllocatorCall>()) {
        count(*call);
    } else if (const auto given = event.as<format::AllocatorSettings>()) {
        settings_ = recorded_allocator_settings(
            std::string(definitions_.text(static_cast<uint32_t>(given->text))));
    }
}

void SegmentPieces::apply(const format::Segment& segment) {
    using Action = format::SegmentAction;
    if (segment.bytes == 0 || segment.bytes > kMaxBlockBytes ||
        segment.address > UINT64_MAX - segment.bytes) {
        return;  // damage
    }
    const bool is_map = segment.action == Action::kMap;
    cut(segment.address, segment.address + segment.bytes);
    if (!is_map && segment.action != Action::kAlloc) {
        return;
    }
    StateSegment made;
    made.address = segment.address;
    made.bytes = segment.bytes;
    made.stream = static_cast<uint32_t>(segment.stream);
    made.is_expandable = is_map;
    if (is_map) {
        made.unit_bytes = segment.bytes == kSmallSegmentBytes ? kSmallSegmentBytes
                                                              : settings_.large_segment_bytes;
    }
    put(made);
    last_ = pieces_.find(segment.address);
}

void SegmentPieces::put(StateSegment piece) {
    piece.serial = ++serial_;
    bytes_ += piece.bytes;
    if (keeps_changes_) {
        changes_.push_back({true, piece.serial, piece.address});
    }
    pieces_.insert_or_assign(piece.address, piece);
}

void SegmentPieces::cut(uint64_t begin, uint64_t end) {
    auto at = pieces_.upper_bound(begin);
    if (at != pieces_.begin() && std::prev(at)->second.end() > begin) {
        --at;
    }
    while (at != pieces_.end() && at->first < end) {
        const StateSegment whole = at->second;
        at = pieces_.erase(at);
        bytes_ -= whole.bytes;
        if (keeps_changes_) {
            changes_.push_back({false, whole.serial, whole.address});
        }
        if (whole.end() > end) {
            StateSegment above = whole;
            above.address = end;
            above.bytes = whole.end() - end;
            put(above);
            at = pieces_.find(end);
        }
        if (whole.address < begin) {
            StateSegment below = whole;
            below.bytes = begin - whole.address;
            put(below);
        }
    }
}

void SegmentPieces::count(const format::AllocatorCall& call) {
    using Action = format::AllocatorAction;
    if (call.device != device_) {
        return;
    }
    if (call.action == Action::kPoolCreated || call.action == Action::kRoutingBegun) {
        ++owners_[call.pool];
    } else if (call.action == Action::kPoolOwned) {
        owners_[call.pool] = call.value;
    } else if (call.action == Action::kPoolReleased && owners_[call.pool] != 0) {
        --owners_[call.pool];
    }
}

std::vector<StateSegment> SegmentPieces::joined() const {
    std::vector<StateSegment> segments;
    for (const auto& [address, piece] : pieces_) {
        StateSegment* const last = segments.empty() ? nullptr : &segments.back();
        const bool goes_on = last != nullptr && last->is_expandable && piece.is_expandable &&
                             last->end() == address && last->stream == piece.stream &&
                             last->pool == piece.pool && last->unit_bytes == piece.unit_bytes;
        if (goes_on) {
            last->bytes += piece.bytes;
        } else {
            segments.push_back(piece);
        }
    }
    return segments;
}

std::set<uint64_t> SegmentPieces::used_pools() const {
    std::set<uint64_t> used;
    for (const auto& [pool, owners] : owners_) {
        if (owners != 0) {
            used.insert(pool);
        }
    }
    return used;
}

}  // namespace peakline::report
