#include "driver_levels.h"

#include <algorithm>
#include <array>

#include "report/replay/blocks/block_groups.h"

namespace peakline::report {
namespace {

using format::DriverKind;

constexpr std::array kKindsWithAddresses = {
    DriverKind::kDevice, DriverKind::kPitch, DriverKind::kMapping};

std::optional<uint32_t> device_of(const RareEvent& event) {
    std::optional<uint64_t> device;
    if (const auto request = event.as<format::DriverAlloc>()) {
        device = request->device;
    } else if (const auto segment = event.as<format::Segment>()) {
        device = segment->device;
    } else if (const auto pool = event.as<format::PoolSample>()) {
        device = pool->device;
    }
    return device && *device < kMaxDevices ? std::optional(static_cast<uint32_t>(*device))
                                           : std::nullopt;
}

void add_group(
    uint32_t context, uint64_t stream, uint32_t device, uint64_t bytes, LiveBlocks* blocks) {
    BlockGroup group;
    group.context = context;
    group.stream = static_cast<uint32_t>(stream);
    group.device = device;
    group.requested_bytes = group.block_bytes = bytes;
    group.count = 1;
    blocks->groups.push_back(group);
}

}  // namespace

uint64_t DriverLevel::bytes() const {
    if (measure_ == DriverMeasure::kDevice) {
        return memory_.held_bytes();
    }
    return pieces_.bytes() + (counts_pools() ? memory_.pool_reserved_bytes() : 0);
}

void DriverLevel::add_blocks(LiveBlocks* blocks) const {
    const uint64_t level_bytes = bytes();
    const size_t begin = blocks->groups.size();
    if (measure_ == DriverMeasure::kReserved) {
        add_segments(blocks);
    }
    add_requests(blocks);
    uint64_t sum = 0;
    for (size_t i = begin; i < blocks->groups.size(); ++i) {
        sum += blocks->groups[i].block_bytes;
    }
    // Free parts of pools, and memory of graphs.
    blocks->unknown_bytes += static_cast<int64_t>(level_bytes - sum);
    blocks->unknown_name = "held by CUDA beyond requests (pools, graphs)";
    blocks->level_bytes += level_bytes;
}

void DriverLevel::add_segments(LiveBlocks* blocks) const {
    for (const auto& [address, piece] : pieces_.by_address()) {
        add_piece(piece, blocks);
    }
}

// The lines of a segment are the lines that requested its memory: one request, or one for each unit
// of an expandable segment. Memory from before the trace has no request.
void DriverLevel::add_piece(const StateSegment& piece, LiveBlocks* blocks) const {
    uint64_t left_bytes = piece.bytes;
    const auto& requests = memory_.requests();
    for (const DriverKind kind : kKindsWithAddresses) {
        auto at = requests.upper_bound({kind, piece.address});
        if (at != requests.begin()) {
            --at;
        }
        for (; at != requests.end() && at->first < DriverMemory::Key{kind, piece.end()}; ++at) {
            const DriverRequest& request = at->second;
            const uint64_t begin = std::max(request.key, piece.address);
            const uint64_t end = std::min(request.key + request.bytes, piece.end());
            if (request.kind == kind && begin < end) {
                const uint64_t bytes = std::min(end - begin, left_bytes);
                add_group(
                    static_cast<uint32_t>(request.context), piece.stream, device_, bytes, blocks);
                left_bytes -= bytes;
            }
        }
    }
    if (left_bytes != 0) {
        add_group(0, piece.stream, device_, left_bytes, blocks);
    }
}

void DriverLevel::add_requests(LiveBlocks* blocks) const {
    const bool is_of_device = measure_ == DriverMeasure::kDevice;
    for (const auto& [key, request] : memory_.requests()) {
        const bool is_part_of_pool = request.kind == DriverKind::kAsync && counts_pools();
        if (is_part_of_pool || (is_of_device && format::is_on_device(request.kind))) {
            add_group(static_cast<uint32_t>(request.context),
                      request.stream,
                      device_,
                      request.bytes,
                      blocks);
        }
    }
    if (is_of_device && memory_.unseen_segment_bytes() != 0) {
        add_group(0, 0, device_, memory_.unseen_segment_bytes(), blocks);
    }
}

void DriverLevels::restore(const Checkpoint& checkpoint) {
    if (!checkpoint.standing) {
        return;
    }
    for (const RareEvent& event : checkpoint.standing->records) {
        if (const std::optional<uint32_t> device = device_of(event)) {
            devices_.try_emplace(*device, definitions_, *device, measure_);
        }
    }
    for (auto& [number, level] : devices_) {
        level.restore(checkpoint);
    }
}

void DriverLevels::apply(const RareEvent& event) {
    if (const std::optional<uint32_t> device = device_of(event)) {
        devices_.try_emplace(*device, definitions_, *device, measure_);
    }
    for (auto& [number, level] : devices_) {
        level.apply(event);
    }
}

uint64_t DriverLevels::bytes(std::optional<uint32_t> device) const {
    uint64_t sum = 0;
    for (const auto& [number, level] : devices_) {
        sum += !device || number == *device ? level.bytes() : 0;
    }
    return sum;
}

LiveBlocks DriverLevels::blocks(std::optional<uint32_t> device) const {
    LiveBlocks blocks;
    for (const auto& [number, level] : devices_) {
        if (!device || number == *device) {
            level.add_blocks(&blocks);
        }
    }
    BlockGroups groups;
    for (const BlockGroup& group : blocks.groups) {
        groups.add(0, group);
    }
    blocks.groups = groups.list();
    return blocks;
}

}  // namespace peakline::report
