// Writes the current StandingRecords as records of a checkpoint.
#include <algorithm>
#include <iterator>

#include "standing_records.h"
#include "trace_writer.h"

namespace peakline::record {
namespace {

using format::AllocatorAction;
using format::SummaryType;

template <class Record>
uint64_t put(TraceWriter& writer, const Record& record) {
    const auto fields = format::fields_of(record);
    uint64_t values[1 + fields.size()] = {static_cast<uint64_t>(Record::kType)};
    std::copy(fields.begin(), fields.end(), values + 1);
    writer.put_summary(SummaryType::kStanding, values, 1 + fields.size());
    return 1;
}

uint64_t coded(int64_t value) {
    return format::zigzag(value);
}

}  // namespace

void StandingRecords::write_to(TraceWriter& writer) const {
    if (!is_whole_) {
        return;
    }
    const uint64_t count = write_segments(writer) + write_calls(writer) + write_requests(writer) +
                           write_devices(writer) + write_scopes(writer);
    writer.put_summary(SummaryType::kStandingEnd, &count, 1);
}

// Writes each piece after the settings at its creation: its units have their size.
uint64_t StandingRecords::write_segments(TraceWriter& writer) const {
    uint64_t count = 0;
    const auto put_settings = [&](uint32_t string) {
        count += string != 0 ? put(writer, format::AllocatorSettings{string}) : 0;
    };
    uint64_t next = 0;  // settings that are not written yet
    uint32_t last = 0;
    while (true) {
        uint64_t string = UINT64_MAX;
        for (const Piece& piece : pieces_) {
            string = piece.settings >= next ? std::min<uint64_t>(string, piece.settings) : string;
        }
        if (string == UINT64_MAX) {
            break;
        }
        last = static_cast<uint32_t>(string);
        put_settings(last);
        for (const Piece& piece : pieces_) {
            if (piece.settings == last) {
                count +=
                    put(writer,
                        format::Segment{
                            piece.action, piece.device, piece.stream, piece.address, piece.bytes});
                count += piece.pool != 0 ? put(writer, format::InPool{piece.pool}) : 0;
            }
        }
        next = string + 1;
    }
    put_settings(settings_ != last ? settings_ : 0);
    return count;
}

uint64_t StandingRecords::write_calls(TraceWriter& writer) const {
    uint64_t count = 0;
    for (const Owners& owners : owners_) {
        count += put(writer,
                     format::AllocatorCall{
                         AllocatorAction::kPoolOwned, owners.device, owners.pool, owners.count});
    }
    for (uint64_t number = 0; number < devices_.size(); ++number) {
        if (devices_[number].has_fraction) {
            count += put(writer,
                         format::AllocatorCall{
                             AllocatorAction::kFractionSet, number, 0, devices_[number].fraction});
        }
    }
    return count;
}

uint64_t StandingRecords::write_scopes(TraceWriter& writer) const {
    uint64_t count = 0;
    for (const format::Scope& scope : scopes_) {
        count += put(writer, scope);
    }
    return count;
}

// Writes the newest one last: the next record may give its purpose.
uint64_t StandingRecords::write_requests(TraceWriter& writer) const {
    uint64_t count = 0;
    const auto put_one = [&](const DriverRequest& request) {
        count += put(writer, request.record);
        count += request.made_for != 0 ? put(writer, format::MadeFor{request.made_for}) : 0;
        const format::SharedMemory shared = {
            request.record.kind, request.record.key, request.shared_name};
        count += request.is_shared ? put(writer, shared) : 0;
    };
    const auto is_last = [&](const DriverRequest& request) {
        return has_last_request_ && request.record.key == last_key_ &&
               request.record.kind == last_kind_;
    };
    requests_.for_each([&](const DriverRequest& request) {
        if (!is_last(request)) {
            put_one(request);
        }
    });
    requests_.for_each([&](const DriverRequest& request) {
        if (is_last(request)) {
            put_one(request);
        }
    });
    return count;
}

uint64_t StandingRecords::write_devices(TraceWriter& writer) const {
    uint64_t count = 0;
    for (const format::PoolSample& pool : pools_) {
        count += pool.reserved_bytes != 0 ? put(writer, pool) : 0;
    }
    for (const Unseen& one : unseen_) {
        const uint64_t values[] = {one.device, one.address, one.bytes};
        writer.put_summary(SummaryType::kUnseenSegment, values, 3);
        ++count;
    }
    for (uint64_t number = 0; number < devices_.size(); ++number) {
        const DeviceUse& use = devices_[number].use;
        uint64_t values[6 + kStepCount] = {number,
                                           use.total_bytes,
                                           coded(use.sampled_bytes),
                                           coded(use.asked_at_sample),
                                           static_cast<uint64_t>(use.calls_since_sample),
                                           use.knows_others ? use.other_bytes + 1 : 0};
        std::transform(std::begin(use.steps), std::end(use.steps), values + 6, coded);
        if (devices_[number].is_used) {
            writer.put_summary(SummaryType::kDeviceUse, values, std::size(values));
            ++count;
        }
    }
    return count;
}

}  // namespace peakline::record
