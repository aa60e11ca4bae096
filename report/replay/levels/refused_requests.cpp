#include "refused_requests.h"

#include <map>
#include <utility>

#include "report/replay/blocks/block_stream.h"
#include "report/replay/blocks/out_of_memory.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

class RefusedFollower : public BlockFollower {
public:
    // Must outlive this.
    explicit RefusedFollower(const BlockStream& stream) : stream_(stream) {}

    void restore(const Checkpoint& checkpoint) {
        if (checkpoint.refusals) {
            found_.count = checkpoint.refusals->count;
            found_.forgotten_count = found_.count - checkpoint.refusals->last.size();
            for (const EarlierRefusal& one : checkpoint.refusals->last) {
                add(one);
            }
            // Later allocations may be missing from the kept events: count at least one.
            found_.later_alloc_count += found_.count != 0 && checkpoint.first_event != 0 ? 1 : 0;
        }
        const AllocationTable& table = stream_.table();
        table.for_each_live(stream_.next_ordinal(), [&](uint64_t ordinal) {
            const AllocationShape* const shape = table.shape(ordinal);
            if (shape != nullptr && !table.is_deferred(ordinal)) {
                levels_[shape->device] += shape->block_bytes;
            }
        });
    }

    void on_alloc(const BlockAlloc& block) {
        levels_[block.shape.device] += block.shape.block_bytes;
        found_.later_alloc_count += found_.main_has_ended ? 0 : 1;
    }

    void on_free(const BlockFree& block) {
        if (block.leaves(format::Measure::kAllocated)) {
            levels_[block.shape.device] -= block.shape.block_bytes;
        }
    }

    void on_main_end(EventTime) { found_.main_has_ended = true; }

    void on_rare(const RareEvent& event, EventTime at) {
        if (const auto failed = event.as<format::OutOfMemory>()) {
            add(*failed, at);
        } else if (const auto refusal = event.as<format::Refusal>()) {
            add(*refusal, at.event);
        }
    }

    RefusedRequests take() { return std::move(found_); }

private:
    void add(const EarlierRefusal& earlier) {
        RefusedRequest one;
        one.request = out_of_memory_at(earlier.tick, earlier.request, stream_.definitions());
        one.live_bytes = earlier.live_bytes;
        one.asked_bytes = earlier.refusal.asked_bytes;
        one.stream = static_cast<uint32_t>(earlier.refusal.stream);
        one.limit_bytes = earlier.refusal.limit_bytes;
        one.earlier = &earlier;
        found_.list.push_back(one);
    }

    void add(const format::OutOfMemory& failed, EventTime at) {
        ++found_.count;
        found_.later_alloc_count = 0;
        if (found_.list.size() == RefusedRequests::kMaxKept) {
            return;
        }
        RefusedRequest one;
        one.request = out_of_memory_at(at.tick, failed, stream_.definitions());
        one.event = at.event;
        one.live_bytes = levels_[one.request.device];
        one.asked_bytes = failed.requested_bytes;
        found_.list.push_back(one);
    }

    // Adds the details to the refused request of the previous record.
    void add(const format::Refusal& refusal, uint64_t event) {
        if (found_.list.empty() || found_.list.back().earlier != nullptr ||
            found_.list.back().event + 1 != event) {
            return;
        }
        RefusedRequest& one = found_.list.back();
        one.asked_bytes = refusal.asked_bytes;
        one.stream = static_cast<uint32_t>(refusal.stream);
        one.limit_bytes = refusal.limit_bytes;
    }

    const BlockStream& stream_;
    std::map<uint32_t, uint64_t> levels_;  // of each device
    RefusedRequests found_;
};

}  // namespace

bool RefusedRequests::is_complete(const TraceReader& reader) {
    const Checkpoint* const checkpoint = reader.checkpoint();
    return checkpoint == nullptr || checkpoint->first_event == 0 || checkpoint->refusals;
}

const RefusedRequest& RefusedRequests::numbered(uint64_t number, const TraceReader& reader) const {
    const std::string& trace_name = reader.name();
    if (list.empty() && !is_complete(reader)) {
        throw TraceError(trace_name + ": no request was refused in the events that are kept, of " +
                         "the older ones nothing is known: record with --keep last:SIZE, which " +
                         "keeps more of them, or --keep all");
    }
    if (list.empty()) {
        throw TraceError(trace_name +
                         ": no request was refused: the device never ran out of memory");
    }
    const uint64_t last = forgotten_count + list.size();
    if (number > last) {
        const bool is_one = last == 1;
        throw TraceError(trace_name + ": there is no request " + std::to_string(number) + ": " +
                         std::to_string(last) +
                         (is_one ? " was refused; it is 1" : " were refused, the first is 1"));
    }
    if (number != 0 && number <= forgotten_count) {
        throw TraceError(trace_name + ": request " + std::to_string(number) +
                         " is no longer kept: the first one that is known is " +
                         std::to_string(forgotten_count + 1) +
                         "; record with --keep last:SIZE, which keeps more, or --keep all");
    }
    return number == 0 ? list.back() : list[number - forgotten_count - 1];
}

const RefusedRequest* RefusedRequests::before(uint64_t number) const {
    const uint32_t device = list[number - forgotten_count - 1].request.device;
    for (uint64_t i = number - forgotten_count - 1; i > 0; --i) {
        if (list[i - 1].request.device == device) {
            return &list[i - 1];
        }
    }
    return nullptr;
}

RefusedRequests find_refused_requests(const TraceReader& reader, const Progress& progress) {
    BlockStream stream(reader);
    RefusedFollower follower(stream);
    stream.run(progress, follower);
    return follower.take();
}

}  // namespace peakline::report
