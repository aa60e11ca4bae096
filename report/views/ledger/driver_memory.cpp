#include "driver_memory.h"

#include <algorithm>

namespace peakline::report {
namespace {

using format::DriverKind;

bool is_possible(uint64_t bytes) {
    return bytes <= kMaxBlockBytes;  // more is damage
}

}  // namespace

void DriverMemory::apply(const RareEvent& event) {
    if (const auto request = event.as<format::DriverAlloc>()) {
        last_request_.reset();
        if (request->device == device_ && is_possible(request->bytes)) {
            add(*request);
        }
    } else if (const auto made = event.as<format::MadeFor>()) {
        if (last_request_) {
            requests_.at(*last_request_).made_for = static_cast<uint32_t>(made->text);
        }
    } else if (const auto shared = event.as<format::SharedMemory>()) {
        if (const auto found = requests_.find({shared->kind, shared->key});
            found != requests_.end()) {
            found->second.is_shared = true;
            found->second.shared_name = static_cast<uint32_t>(shared->name);
        }
    } else if (const auto end = event.as<format::DriverFree>()) {
        last_request_.reset();
        remove(*end);
    } else if (const auto segment = event.as<format::Segment>()) {
        if (segment->device == device_ && is_possible(segment->bytes)) {
            apply_segment(*segment);
        }
    } else if (const auto pool = event.as<format::PoolSample>()) {
        if (pool->device == device_ && is_possible(pool->reserved_bytes)) {
            PoolLevel& level = pools_[pool->pool];
            use_.pool_bytes += pool->reserved_bytes - level.reserved_bytes;
            level.reserved_bytes = pool->reserved_bytes;
        }
    } else if (const auto processes = event.as<format::DeviceProcesses>()) {
        if (processes->device == device_ && is_possible(processes->other_bytes)) {
            use_.apply(*processes);
        }
    } else if (const auto sample = event.as<format::DriverSample>()) {
        if (sample->device == device_ && is_possible(sample->total_bytes) &&
            sample->free_bytes <= sample->total_bytes) {
            use_.apply(*sample);
        }
    }
}

void DriverMemory::count(const format::DriverAlloc& request, bool is_added) {
    const uint64_t bytes = is_added ? request.bytes : -request.bytes;
    if (format::is_on_device(request.kind)) {
        use_.device_bytes += bytes;
    } else if (request.kind == DriverKind::kAsync) {
        pools_[request.owner].requested_bytes += bytes;
    }
}

void DriverMemory::add(const format::DriverAlloc& request) {
    remove({request.kind, request.key});  // its end was not recorded
    last_request_ = {request.kind, request.key};
    requests_[*last_request_] = {request};
    ++use_.calls_since_sample;
    count(request, true);
}

void DriverMemory::remove(const format::DriverFree& end) {
    const auto found = requests_.find({end.kind, end.key});
    if (found != requests_.end()) {
        count(found->second, false);
        ++use_.calls_since_sample;
        requests_.erase(found);
    }
}

bool DriverMemory::was_requested(uint64_t address) const {
    for (const DriverKind kind :
         {DriverKind::kDevice, DriverKind::kPitch, DriverKind::kMapping, DriverKind::kAsync}) {
        auto after = requests_.upper_bound({kind, address});
        if (after == requests_.begin()) {
            continue;
        }
        const DriverRequest& request = std::prev(after)->second;
        if (request.kind == kind && address - request.key < request.bytes) {
            return true;
        }
    }
    return false;
}

void DriverMemory::apply_segment(const format::Segment& segment) {
    const bool grows = segment.action == format::SegmentAction::kAlloc ||
                       segment.action == format::SegmentAction::kMap;
    if (const auto before = unseen_.find(segment.address); before != unseen_.end()) {
        use_.unseen_bytes -= before->second;
        unseen_.erase(before);
    }
    if (grows && !was_requested(segment.address)) {
        add_unseen(segment.address, segment.bytes);
    }
}

void DriverMemory::add_unseen(uint64_t address, uint64_t bytes) {
    unseen_[address] = bytes;
    use_.unseen_bytes += bytes;
}

// Does not match segments with requests again: a request may have ended before its segment.
void DriverMemory::restore(const Checkpoint& checkpoint) {
    if (!checkpoint.standing) {
        return;
    }
    for (const RareEvent& event : checkpoint.standing->records) {
        if (event.type != format::ExtendedType::kSegment) {
            apply(event);
        }
    }
    for (const StandingState::Unseen& unseen : checkpoint.standing->unseen) {
        if (unseen.device == device_) {
            add_unseen(unseen.address, unseen.bytes);
        }
    }
    const auto found = checkpoint.standing->uses.find(device_);
    if (found != checkpoint.standing->uses.end()) {
        record::DeviceUse use = found->second;
        use.device_bytes = use_.device_bytes;
        use.pool_bytes = use_.pool_bytes;
        use.unseen_bytes = use_.unseen_bytes;
        use_ = use;
    }
}

}  // namespace peakline::report
