#include "autopsy.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <vector>

#include "report/attribute/block_keys.h"
#include "report/attribute/grouping.h"
#include "report/replay/allocator_model/allocator_settings.h"
#include "report/replay/replay.h"
#include "report/views/calls/event_phases.h"

namespace peakline::report {
namespace {

uint64_t device_bytes_of(const TraceReader& reader, uint32_t device) {
    const std::string key = "device." + std::to_string(device) + ".total_bytes";
    const std::string_view text = reader.definitions().meta_text(key);
    uint64_t bytes = 0;
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    return bytes;
}

Table table_of(const char* key, const PhaseTable& phases, LiveBlocks blocks, StackLookup& stacks) {
    BlockKeys keys({&find_grouping(key)}, 1, stacks);
    keys.group(phases, &blocks);
    return build_table(blocks, format::Measure::kAllocated, keys);
}

// Such blocks belong to one run of the failed code for certain, and should not outlive it.
bool is_of_one_run(const std::string& category) {
    return category == "activation" || category == "temporary";
}

Phase phase_at(const ReplayResult& result, const RefusedRequest& refused, StackLookup& stacks) {
    const auto& contexts = stacks.phase_rules().contexts;
    const uint32_t context = refused.request.context;
    const Phase of_stack = context < contexts.size() ? contexts[context].phase : Phase::kNone;
    return EventPhases(result.phases).phase(of_stack, refused.event);
}

// A program that tries another way within a pass still needs the pass's memory: then it continues
// the pass.
bool goes_on(const ReplayResult& result,
             const RefusedRequest& before,
             const RefusedRequest& now,
             StackLookup& stacks) {
    const Phase phase = phase_at(result, before, stacks);
    const auto& phases = result.phases.phases;
    return phase_at(result, now, stacks) == phase &&
           std::none_of(phases.begin(), phases.end(), [&](const PhaseInterval& one) {
               return one.begin_event > before.event && one.begin_event < now.event &&
                      one.phase != phase;
           });
}

uint64_t older_bytes_of(const ReplayResult& result, uint64_t earlier_event, StackLookup& stacks) {
    LiveBlocks older;
    for (const TrackedBlock& one : result.blocks.blocks) {
        if (one.facts.is_restored || one.facts.alloc_event < earlier_event) {
            older.blocks.push_back(one);
            older.level_bytes += one.block.block_bytes;
        }
    }
    uint64_t bytes = 0;
    for (const TableRow& row : table_of("category", result.phases, older, stacks).rows) {
        bytes += is_of_one_run(row.labels.front().name) ? static_cast<uint64_t>(row.bytes) : 0;
    }
    return bytes;
}

void add_live_blocks(const TraceReader& reader,
                     const Selection& selection,
                     const RefusedRequests& refused,
                     StackLookup& stacks,
                     const Progress& progress,
                     Autopsy* autopsy) {
    ReplayRequest request = selection.request;
    request.moment.kind = MomentKind::kOutOfMemory;
    request.moment.request_number = autopsy->number;
    if (autopsy->refused.earlier == nullptr) {
        request.moment.event = autopsy->refused.event;
    }
    request.measure = format::Measure::kAllocated;
    request.device = {DeviceChoiceKind::kNumber, autopsy->refused.request.device};
    request.detail = Detail::kBlocks;
    request.needs_tensors = true;
    request.phase_rules = &stacks.phase_rules();
    const ReplayResult result = replay(reader, request, progress);
    autopsy->lines = table_of("line", result.phases, result.blocks, stacks);
    autopsy->categories = table_of("category", result.phases, result.blocks, stacks);
    autopsy->live = result.blocks.blocks;
    if (autopsy->refused.earlier != nullptr) {
        return;
    }
    const RefusedRequest* const before = refused.before(autopsy->number);
    if (before != nullptr && !goes_on(result, *before, autopsy->refused, stacks)) {
        autopsy->number_before = refused.number_of(*before);
        autopsy->older_bytes = older_bytes_of(result, before->event, stacks);
    }
    autopsy->phase = phase_name(phase_at(result, autopsy->refused, stacks));
    autopsy->step = EventPhases(result.phases).step(autopsy->refused.event);
}

void add_request(StackLookup& stacks, Autopsy* autopsy) {
    BlockGroup group;
    group.context = autopsy->refused.request.context;
    group.device = autopsy->refused.request.device;
    group.count = 1;
    autopsy->line = row_by_line(stacks, group).label;
    const Label module = find_grouping("module").row_of(stacks, group).label;
    autopsy->module = module.name != kOutsideModulesName ? module.name : std::string();
}

bool is_over_limit(const Autopsy& autopsy) {
    const RefusedRequest& refused = autopsy.refused;
    const uint64_t asked = refused.request.requested_bytes;
    if (refused.limit_bytes == 0 || refused.limit_bytes >= autopsy.device_bytes) {
        return false;
    }
    return autopsy.segments.has_value()
               ? autopsy.segments->reserved_bytes + asked > refused.limit_bytes
               : asked <= refused.request.free_bytes;
}

RefusalReason reason_in_segments(const Autopsy& autopsy) {
    const RefusedSegments& segments = *autopsy.segments;
    const uint64_t asked = autopsy.refused.asked_bytes;
    const uint64_t needed = in_least_blocks(asked);
    if (!segments.knows_pieces) {
        return segments.free_bytes + segments.waiting_bytes >= needed ? RefusalReason::kPieces
                                                                      : RefusalReason::kFull;
    }
    if (segments.largest_of_other_streams_bytes >= needed) {
        return RefusalReason::kOtherStream;
    }
    if (segments.of_other_pools.largest_bytes >= needed) {
        return RefusalReason::kOtherPool;
    }
    if (segments.usable.bytes >= needed) {
        return RefusalReason::kFragmented;
    }
    if (segments.usable.bytes + segments.waiting_bytes >= needed) {
        return RefusalReason::kWaiting;
    }
    const uint64_t missing = autopsy.missing_bytes;
    if (missing == 0) {
        return RefusalReason::kFull;
    }
    if (segments.pinned.bytes >= missing) {
        return RefusalReason::kPinned;
    }
    if (segments.pinned.bytes + segments.waiting_bytes >= missing) {
        return RefusalReason::kWaiting;
    }
    return segments.pinned.bytes + segments.of_other_pools.bytes >= missing
               ? RefusalReason::kOtherPool
               : RefusalReason::kFull;
}

RefusalReason reason_of(const Autopsy& autopsy) {
    const RefusalReason reason =
        autopsy.segments.has_value() ? reason_in_segments(autopsy) : RefusalReason::kFull;
    return reason == RefusalReason::kFull && autopsy.is_over_limit ? RefusalReason::kFraction
                                                                   : reason;
}

}  // namespace

uint64_t Autopsy::room_bytes() const {
    if (!is_over_limit || !segments.has_value()) {
        return refused.request.free_bytes;
    }
    const uint64_t within =
        refused.limit_bytes - std::min(refused.limit_bytes, segments->reserved_bytes);
    return std::min(refused.request.free_bytes, within);
}

std::optional<uint64_t> Autopsy::outside_bytes() const {
    const uint64_t used = device_bytes - std::min(device_bytes, refused.request.free_bytes);
    if (!segments.has_value() || used < segments->reserved_bytes) {
        return std::nullopt;
    }
    return used - segments->reserved_bytes;
}

std::optional<uint64_t> Autopsy::other_process_bytes() const {
    const std::optional<uint64_t> outside = outside_bytes();
    const bool is_known = outside.has_value() && segments->other_process_bytes <= outside;
    return is_known ? segments->other_process_bytes : std::nullopt;
}

const FreePieces* Autopsy::free_pieces() const {
    if (!segments.has_value()) {
        return nullptr;
    }
    switch (reason) {
        case RefusalReason::kOtherPool:
            return &segments->of_other_pools;
        case RefusalReason::kOtherStream:
        case RefusalReason::kPinned:
            return &segments->pinned;
        default:
            return &segments->usable;
    }
}

bool ended_the_program(const TraceReader& reader, const RefusedRequests& refused) {
    if (refused.count == 0) {
        return false;
    }
    const std::string_view error = reader.definitions().meta_text("ended_by");
    if (!error.empty()) {
        return error.find("OutOfMemoryError") != std::string_view::npos;
    }
    return !refused.main_has_ended && refused.later_alloc_count == 0;
}

Autopsy make_autopsy(const TraceReader& reader,
                     const Selection& selection,
                     const RefusedRequests& refused,
                     StackLookup& stacks,
                     const Progress& progress) {
    Autopsy autopsy;
    const Moment& moment = selection.request.moment;
    const bool is_named = moment.kind == MomentKind::kOutOfMemory;
    const RefusedRequest& asked = refused.numbered(is_named ? moment.request_number : 0, reader);
    autopsy.refused = asked;
    autopsy.number = refused.number_of(asked);
    autopsy.is_caught = autopsy.number != refused.count || !ended_the_program(reader, refused);
    autopsy.device_bytes = device_bytes_of(reader, autopsy.refused.request.device);
    add_request(stacks, &autopsy);
    if (autopsy.refused.live_bytes != 0) {
        add_live_blocks(reader, selection, refused, stacks, progress, &autopsy);
    }
    autopsy.segments = find_refused_segments(reader, autopsy.refused, stacks, progress);
    autopsy.is_over_limit = is_over_limit(autopsy);
    const uint64_t wanted = autopsy.refused.request.requested_bytes;
    autopsy.missing_bytes = wanted - std::min(autopsy.room_bytes(), wanted);
    autopsy.reason = reason_of(autopsy);
    return autopsy;
}

const char* reason_name(RefusalReason reason) {
    static constexpr const char* kNames[] = {"full",
                                             "fragmented",
                                             "other_stream",
                                             "waiting",
                                             "fraction",
                                             "other_pool",
                                             "pieces",
                                             "pinned"};
    return kNames[static_cast<size_t>(reason)];
}

}  // namespace peakline::report
