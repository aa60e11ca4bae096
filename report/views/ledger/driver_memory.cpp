#include "driver_memory.h"

#include <algorithm>

namespace peakline::report {
namespace {

using format::DriverKind;
using format::SampleReason;

// The driver hands memory out in granules of this size: what a request may take beyond its bytes.
constexpr int64_t kGranuleBytes = 2 << 20;

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
            pool_bytes_ += pool->reserved_bytes - level.reserved_bytes;
            level.reserved_bytes = pool->reserved_bytes;
        }
    } else if (const auto processes = event.as<format::DeviceProcesses>()) {
        if (processes->device == device_ && is_possible(processes->other_bytes)) {
            apply_processes(*processes);
        }
    } else if (const auto sample = event.as<format::DriverSample>()) {
        if (sample->device == device_ && is_possible(sample->total_bytes) &&
            sample->free_bytes <= sample->total_bytes) {
            apply_sample(*sample);
        }
    }
}

void DriverMemory::count(const format::DriverAlloc& request, bool is_added) {
    const uint64_t bytes = is_added ? request.bytes : -request.bytes;
    if (format::is_on_device(request.kind)) {
        device_bytes_ += bytes;
    } else if (request.kind == DriverKind::kAsync) {
        pools_[request.owner].requested_bytes += bytes;
    }
}

void DriverMemory::add(const format::DriverAlloc& request) {
    remove({request.kind, request.key});  // its end was not seen
    last_request_ = {request.kind, request.key};
    requests_[*last_request_] = {request, 0};
    ++calls_since_sample_;
    count(request, true);
}

void DriverMemory::remove(const format::DriverFree& end) {
    const auto found = requests_.find({end.kind, end.key});
    if (found != requests_.end()) {
        count(found->second, false);
        ++calls_since_sample_;
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
        unseen_bytes_ -= before->second;
        unseen_.erase(before);
    }
    if (grows && !was_requested(segment.address)) {
        unseen_[segment.address] = segment.bytes;
        unseen_bytes_ += segment.bytes;
    }
}

void DriverMemory::apply_processes(const format::DeviceProcesses& processes) {
    if (processes.own_bytes == 0) {
        return;
    }
    if (!other_bytes_ && total_bytes_ != 0) {
        const auto before = static_cast<int64_t>(processes.other_bytes);
        step(Step::kBefore) -= before;
        asked_at_sample_ += before;
    }
    other_bytes_ = processes.other_bytes;
}

void DriverMemory::apply_sample(const format::DriverSample& sample) {
    const auto used = static_cast<int64_t>(sample.total_bytes - sample.free_bytes);
    const int64_t asked = asked_bytes();
    if (total_bytes_ == 0) {
        step(Step::kBefore) = used - asked;
    } else {
        add_step(sample.reason, (used - asked) - (sampled_bytes_ - asked_at_sample_));
    }
    total_bytes_ = sample.total_bytes;
    sampled_bytes_ = used;
    asked_at_sample_ = asked;
    calls_since_sample_ = 0;
}

void DriverMemory::add_step(SampleReason reason, int64_t bytes) {
    switch (reason) {
        case SampleReason::kContext:
            step(Step::kContext) += bytes;
            return;
        case SampleReason::kModule:
            step(Step::kModules) += bytes;
            return;
        case SampleReason::kLimit:
            step(Step::kLimits) += bytes;
            return;
        case SampleReason::kGraph:
            step(Step::kGraphs) += bytes;
            return;
        default:
            break;
    }
    // Where several threads call the driver there is one sample after several calls.
    const int64_t rounding_limit = kGranuleBytes * calls_since_sample_;
    if (bytes > -rounding_limit && bytes < rounding_limit) {
        step(Step::kRounding) += bytes;
        return;
    }
    const bool is_growth = step(Step::kGrowth) + bytes >= 0;
    step(is_growth ? Step::kGrowth : Step::kUnexplained) += bytes;
}

}  // namespace peakline::report
