#include "autopsy.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "report/attribute/block_keys.h"
#include "report/attribute/grouping.h"
#include "report/replay/replay.h"
#include "report/views/calls/event_places.h"

namespace peakline::report {
namespace {

// torch rounds what is asked of it up to this, and looks for a piece of that size.
constexpr uint64_t kRoundingBytes = 512;

uint64_t device_bytes_of(const TraceReader& reader, uint32_t device) {
    const std::string key = "device." + std::to_string(device) + ".total_bytes";
    const std::string_view text = reader.definitions().meta_text(key);
    uint64_t bytes = 0;
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    return bytes;
}

Table table_of(const char* key, const ReplayResult& result, StackLookup& stacks) {
    BlockKeys keys({&find_grouping(key)}, 1, stacks);
    LiveBlocks blocks = result.blocks;
    keys.group(result.phases, &blocks);
    return build_table(blocks, format::Measure::kAllocated, keys);
}

void add_live_blocks(const TraceReader& reader,
                     const Selection& selection,
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
    autopsy->lines = table_of("line", result, stacks);
    autopsy->categories = table_of("category", result, stacks);
    if (autopsy->refused.earlier != nullptr) {
        return;
    }
    const EventPlaces places(result.phases);
    const uint64_t event = autopsy->refused.event;
    const uint32_t context = autopsy->refused.request.context;
    const auto& contexts = stacks.phase_rules().contexts;
    const Phase said = context < contexts.size() ? contexts[context].phase : Phase::kNone;
    autopsy->phase = phase_name(places.phase(said, event));
    autopsy->step = places.step(event);
}

void add_request(StackLookup& stacks, Autopsy* autopsy) {
    BlockGroup group;
    group.context = autopsy->refused.request.context;
    group.device = autopsy->refused.request.device;
    group.count = 1;
    autopsy->line = place_by_line(stacks, group).label;
    const Label module = find_grouping("module").place(stacks, group).label;
    autopsy->module = module.name != kOutsideModulesName ? module.name : std::string();
}

uint64_t missing_bytes_of(const Autopsy& autopsy) {
    const OutOfMemory& request = autopsy.refused.request;
    if (autopsy.reason == RefusalReason::kFraction) {
        return autopsy.segments->reserved_bytes + request.requested_bytes -
               autopsy.refused.limit_bytes;
    }
    return request.requested_bytes - std::min(request.free_bytes, request.requested_bytes);
}

bool is_over_fraction(const Autopsy& autopsy) {
    const RefusedRequest& refused = autopsy.refused;
    return refused.limit_bytes != 0 && refused.limit_bytes < autopsy.device_bytes &&
           autopsy.segments.has_value() &&
           autopsy.segments->reserved_bytes + refused.request.requested_bytes > refused.limit_bytes;
}

RefusalReason reason_of(const Autopsy& autopsy) {
    if (autopsy.segments.has_value()) {
        const RefusedSegments& segments = *autopsy.segments;
        const uint64_t asked = autopsy.refused.asked_bytes;
        const uint64_t needed = (asked + kRoundingBytes - 1) / kRoundingBytes * kRoundingBytes;
        if (!segments.knows_pieces && segments.free_bytes + segments.waiting_bytes >= needed) {
            return RefusalReason::kPieces;
        }
        if (segments.largest_of_other_streams_bytes >= needed) {
            return RefusalReason::kOtherStream;
        }
        if (segments.largest_of_other_pools_bytes >= needed) {
            return RefusalReason::kOtherPool;
        }
        if (segments.usable_bytes >= needed) {
            return RefusalReason::kFragmented;
        }
        if (segments.usable_bytes + segments.waiting_bytes >= needed) {
            return RefusalReason::kWaiting;
        }
    }
    return is_over_fraction(autopsy) ? RefusalReason::kFraction : RefusalReason::kFull;
}

}  // namespace

std::optional<uint64_t> Autopsy::outside_bytes() const {
    const uint64_t used = device_bytes - std::min(device_bytes, refused.request.free_bytes);
    if (!segments.has_value() || used < segments->reserved_bytes) {
        return std::nullopt;
    }
    return used - segments->reserved_bytes;
}

bool Autopsy::could_ever_fit() const {
    const uint64_t asked = refused.request.requested_bytes;
    const bool is_within_limit = refused.limit_bytes == 0 || asked <= refused.limit_bytes;
    return is_within_limit &&
           (device_bytes == 0 || asked + outside_bytes().value_or(0) <= device_bytes);
}

bool ended_the_program(const TraceReader& reader, const RefusedRequests& refused) {
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
        add_live_blocks(reader, selection, stacks, progress, &autopsy);
    }
    autopsy.segments = find_refused_segments(reader, autopsy.refused, stacks, progress);
    autopsy.reason = reason_of(autopsy);
    autopsy.missing_bytes = missing_bytes_of(autopsy);
    return autopsy;
}

const char* reason_name(RefusalReason reason) {
    static constexpr const char* kNames[] = {
        "full", "fragmented", "other_stream", "waiting", "fraction", "other_pool", "pieces"};
    return kNames[static_cast<size_t>(reason)];
}

}  // namespace peakline::report
