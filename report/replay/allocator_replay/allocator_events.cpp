#include "allocator_events.h"

#include <algorithm>
#include <utility>

namespace peakline::report {
namespace {

// Lower addresses mark blocks that the recorder did not see being made: see
// record/recorder_events.cpp.
constexpr uint64_t kLeastAddress = 4096;

}  // namespace

AllocatorEvents::AllocatorEvents(const BlockStream& stream) : stream_(stream) {
    const std::string text(stream.definitions().meta_text("allocator_settings"));
    collects_garbage_ = parse_allocator_settings(text).collection_threshold != 0;
}

void AllocatorEvents::listen(uint32_t device, AllocatorListener& listener) {
    if (device >= devices_.size()) {
        devices_.resize(device + 1);
    }
    devices_[device].listener = &listener;
}

void AllocatorEvents::call_at(std::vector<uint64_t> events) {
    calls_ = std::move(events);
    std::sort(calls_.begin(), calls_.end());
    call_count_ = 0;
    next_call_ = calls_.empty() ? UINT64_MAX : calls_.front();
}

void AllocatorEvents::call_listeners(EventTime at) {
    pass_on();
    while (call_count_ < calls_.size() && calls_[call_count_] <= at.event) {
        const uint64_t event = calls_[call_count_++];
        for (const Device& device : devices_) {
            if (device.listener != nullptr) {
                device.listener->on_event({event, at.tick});
            }
        }
    }
    next_call_ = call_count_ < calls_.size() ? calls_[call_count_] : UINT64_MAX;
}

uint64_t AllocatorEvents::pool_of(const Device& device, uint64_t address) {
    if (device.private_segments.empty()) {
        return 0;
    }
    auto at = device.private_segments.upper_bound(address);
    if (at == device.private_segments.begin() || (--at)->second.end <= address) {
        return 0;
    }
    // Such a pool served a request of the default pool.
    const uint64_t pool = at->second.pool;
    const bool is_lent = device.serving_pools.count(pool) != 0 && device.routings.count(pool) == 0;
    return is_lent ? 0 : pool;
}

void AllocatorEvents::on_alloc(const BlockAlloc& block) {
    pass_on();
    Device* const device = find(block.shape.device);
    if (device == nullptr || block.address < kLeastAddress) {
        return;
    }
    RecordedRequest recorded;
    recorded.request = {block.ordinal,
                        block.shape.requested_bytes,
                        handle_of(block.shape.stream),
                        pool_of(*device, block.address)};
    recorded.address = block.address;
    recorded.block_bytes = block.shape.block_bytes;
    recorded.context = block.shape.context;
    recorded.at = block.at;
    recorded.is_restored = device->is_restoring;
    begin_request(*device);
    pass_on_others(*device);
    device->listener->on_request(recorded);
    pass_on_completed(*device);
}

void AllocatorEvents::on_free(const BlockFree& block) {
    pass_on();
    Device* const device = find(block.shape.device);
    if (device == nullptr) {
        return;
    }
    if (block.kind == FreeKind::kCompleted) {
        device->completed.push_back(block.ordinal);
        device->is_retry |= device->has_returned;
        return;
    }
    pass_on_completed(*device);
    if (block.kind == FreeKind::kPlain) {
        device->listener->on_freed(block.ordinal);
    } else {
        device->listener->on_free_requested(block.ordinal);
    }
}

void AllocatorEvents::pass_on_completed(Device& device) {
    for (const uint64_t ordinal : device.completed) {
        device.listener->on_free_completed(ordinal);
    }
    device.completed.clear();
    device.is_retry = device.has_returned = false;
}

// A sample comes before the record of a new segment, but after the record of a released one: the
// two match only once a request has been served.
void AllocatorEvents::pass_on_others(Device& device) {
    if (device.is_sampled && device.used_bytes >= device.reserved_bytes) {
        device.listener->on_others(device.used_bytes - device.reserved_bytes);
    }
    device.is_sampled = false;
}

void AllocatorEvents::begin_request(Device& device) {
    if (!device.is_retry) {
        pass_on_completed(device);
    }
}

void AllocatorEvents::on_rare(const RareEvent& event, EventTime at) {
    if (const auto pool = event.as<format::InPool>()) {
        waiting_.pool = pool->pool;
        pass_on();
        return;
    }
    if (const auto refusal = event.as<format::Refusal>()) {
        waiting_.refusal = *refusal;
        return;
    }
    pass_on();
    if (const auto segment = event.as<format::Segment>()) {
        waiting_ = {};
        waiting_.segment = *segment;
        waiting_.at = at;
    } else if (const auto refused = event.as<format::OutOfMemory>()) {
        waiting_ = {};
        waiting_.refused = *refused;
        waiting_.refusal.asked_bytes = refused->requested_bytes;
        waiting_.at = at;
    } else if (const auto call = event.as<format::AllocatorCall>()) {
        pass_on_call(*call);
    } else if (const auto given = event.as<format::AllocatorSettings>()) {
        pass_on_settings(
            std::string(stream_.definitions().text(static_cast<uint32_t>(given->text))));
    } else if (const auto sample = event.as<format::DriverSample>()) {
        Device* const device = find(sample->device);
        if (device != nullptr && sample->free_bytes <= sample->total_bytes) {
            device->used_bytes = sample->total_bytes - sample->free_bytes;
            device->is_sampled = true;
        }
    } else if (const auto memory = event.as<format::DeviceMemory>()) {
        if (Device* const device = find(memory->device)) {
            begin_request(*device);
            device->is_retry |= memory->moment == format::MemoryMoment::kAllocFailed;
            device->listener->on_memory(*memory);
        }
    }
}

void AllocatorEvents::pass_on_settings(const std::string& text) {
    const AllocatorSettings settings = parse_allocator_settings(text);
    collects_garbage_ = settings.collection_threshold != 0;
    for (Device& device : devices_) {
        if (device.listener != nullptr) {
            pass_on_completed(device);
            device.listener->on_settings(settings);
        }
    }
}

void AllocatorEvents::finish() {
    pass_on();
    for (Device& device : devices_) {
        pass_on_completed(device);
    }
    call_listeners({UINT64_MAX - 1, 0});
}

void AllocatorEvents::pass_on_slow() {
    const Waiting waiting = std::exchange(waiting_, {});
    if (waiting.segment.has_value()) {
        if (Device* const device = find(waiting.segment->device)) {
            waiting_.pool = waiting.pool;
            waiting_.at = waiting.at;
            pass_on_segment(*device, *waiting.segment);
            waiting_ = {};
        }
        return;
    }
    Device* const device = find(waiting.refused->device);
    if (device == nullptr) {
        return;
    }
    RecordedRequest refused;
    // It has no ordinal of its own: use the one after the last allocation.
    refused.request = {stream_.reader().max_alloc_count(),
                       waiting.refusal.asked_bytes,
                       handle_of(waiting.refusal.stream),
                       waiting.pool};
    refused.context = static_cast<uint32_t>(waiting.refused->context);
    refused.at = waiting.at;
    device->is_retry |= !device->completed.empty();
    device->listener->on_refused(refused, waiting.refused->free_bytes);
    pass_on_completed(*device);
}

void AllocatorEvents::pass_on_segment(Device& device, const format::Segment& segment) {
    SegmentChange change{
        segment.action, segment.address, segment.bytes, handle_of(segment.stream), waiting_.pool};
    auto& segments = device.private_segments;
    device.is_retry |= !change.grows() && !device.completed.empty() && !collects_garbage_;
    begin_request(device);
    device.has_returned |= !change.grows();
    device.reserved_bytes += change.grows() ? change.bytes : -change.bytes;
    if (change.grows()) {
        if (change.pool != 0) {
            segments[segment.address] = {segment.address + segment.bytes, change.pool};
        }
    } else {
        // Pieces of expandable segments may end together.
        auto at = segments.upper_bound(segment.address);
        if (at != segments.begin() && std::prev(at)->second.end > segment.address) {
            --at;
        }
        const uint64_t end = segment.address + segment.bytes;
        while (at != segments.end() && at->first < end) {
            const auto [begin, range] = *at;
            change.pool = range.pool;
            at = segments.erase(at);
            if (begin < segment.address) {
                segments[begin] = {segment.address, range.pool};
            }
            if (range.end > end) {
                segments[end] = range;
            }
        }
    }
    device.listener->on_segment(change, waiting_.at);
}

void AllocatorEvents::pass_on_call(const format::AllocatorCall& call) {
    using Action = format::AllocatorAction;
    if (call.action == Action::kCacheEmptied) {  // applies to all devices
        for (Device& device : devices_) {
            if (device.listener != nullptr) {
                pass_on_completed(device);
                device.listener->on_call(call);
            }
        }
        return;
    }
    Device* const device = find(call.device);
    if (device == nullptr) {
        return;
    }
    pass_on_completed(*device);
    if (call.action == Action::kRestoreBegun || call.action == Action::kRestoreEnded) {
        device->is_restoring = call.action == Action::kRestoreBegun;
    } else if (call.action == Action::kRoutingBegun) {
        ++device->routings[call.pool];
    } else if (call.action == Action::kRoutingEnded) {
        const auto found = device->routings.find(call.pool);
        if (found != device->routings.end() && --found->second == 0) {
            device->routings.erase(found);
        }
    } else if (call.action == Action::kServingSet) {
        if (call.value != 0) {
            device->serving_pools.insert(call.pool);
        } else {
            device->serving_pools.erase(call.pool);
        }
    }
    device->listener->on_call(call);
}

}  // namespace peakline::report
