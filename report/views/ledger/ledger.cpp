#include "ledger.h"

#include <algorithm>
#include <utility>

#include "held_requests.h"
#include "ledger_moment.h"
#include "library_rows.h"
#include "report/trace/file/trace_error.h"
#include "shared_parts.h"

namespace peakline::report {
namespace {

using format::DriverKind;

// Sums torch's blocks that begin within the range, and marks them in `is_inside`.
uint64_t blocks_within(const std::vector<TorchBlock>& blocks,
                       uint64_t address,
                       uint64_t bytes,
                       std::vector<bool>* is_inside) {
    uint64_t sum = 0;
    auto at = std::lower_bound(
        blocks.begin(), blocks.end(), address, [](const TorchBlock& block, uint64_t wanted) {
            return block.address < wanted;
        });
    for (; at != blocks.end() && at->address - address < bytes; ++at) {
        sum += at->bytes;
        (*is_inside)[static_cast<size_t>(at - blocks.begin())] = true;
    }
    return sum;
}

class LedgerMaker {
public:
    LedgerMaker(const LedgerMoment& moment, StackLookup& stacks)
        : moment_(moment),
          memory_(moment.memory),
          blocks_(moment.blocks),
          is_inside_(moment.blocks.size()),
          segments_(moment.segments),
          libraries_(stacks),
          stacks_(stacks) {}

    void fill(Ledger* ledger) {
        ledger->total_bytes = memory_.total_bytes();
        ledger->used_bytes = memory_.used_bytes();
        leave_driver_blocks_out();
        share_requests();
        put_torch(ledger);
        libraries_.put(PartKind::kLibrary, &ledger->parts);
        put_pools(ledger);
        put_steps(ledger);
        put_others(ledger);
        put_beside(ledger);
        ledger->shared = shared_parts(memory_.requests(), stacks_);
        ledger->unexplained_bytes = ledger->used_bytes;
        for (const LedgerPart& part : ledger->parts) {
            ledger->unexplained_bytes -= part.bytes;
        }
    }

private:
    // Blocks that are themselves requests to the driver are not torch's.
    void leave_driver_blocks_out() {
        for (const auto& [key, request] : memory_.requests()) {
            if ((request.flags & format::kIsAlsoBlock) != 0) {
                is_without_torch_ = true;
            }
        }
    }

    // Each request backs a segment of torch, or blocks of torch without a segment, or belongs to a
    // library.
    void share_requests() {
        for (const HeldRequest& held : held_requests(memory_.requests())) {
            const DriverRequest& request = *held.request;
            const bool is_pooled = request.kind == DriverKind::kAsync;
            bool is_backing = false;
            uint64_t block_bytes = 0;
            for (const auto& [address, bytes] : held.ranges) {
                is_backing = is_backing || segments_.find(address) != nullptr;
                block_bytes +=
                    is_without_torch_ ? 0 : blocks_within(blocks_, address, bytes, &is_inside_);
            }
            if (is_backing) {
                backing_bytes_ += request.bytes;
            } else if (block_bytes != 0) {
                own_segment_bytes_ += request.bytes;
            } else {
                libraries_.add(request);
            }
            pooled_bytes_ += is_pooled ? request.bytes : 0;
        }
    }

    void put_torch(Ledger* ledger) const {
        const auto segment_bytes = static_cast<int64_t>(segments_.bytes());
        int64_t live = 0;
        int64_t lost = 0;  // of blocks outside of any known memory
        for (size_t i = 0; i < blocks_.size() && !is_without_torch_; ++i) {
            live += blocks_[i].is_waiting ? 0 : static_cast<int64_t>(blocks_[i].bytes);
            const bool has_place = is_inside_[i] || segments_.find(blocks_[i].address) != nullptr;
            lost += has_place ? 0 : static_cast<int64_t>(blocks_[i].bytes);
        }
        const int64_t reserved = segment_bytes + static_cast<int64_t>(own_segment_bytes_) + lost;
        if (!is_without_torch_ || segment_bytes != 0) {
            ledger->parts.push_back({"torch live", PartKind::kTorch, live, 0, {}});
            put_cached(reserved - live, ledger);
        }
        // vLLM's sleep and similar features: the segment stays, its memory is returned.
        const int64_t asleep = segment_bytes - static_cast<int64_t>(backing_bytes_) -
                               static_cast<int64_t>(memory_.unseen_segment_bytes());
        if (asleep != 0) {
            ledger->parts.push_back(
                {"torch segments without memory", PartKind::kTorch, -asleep, 0, {}});
        }
    }

    void put_cached(int64_t cached_bytes, Ledger* ledger) const {
        for (const auto& [kind, bytes] : segments_.cached_bytes(blocks_)) {
            if (bytes != 0) {
                ledger->parts.push_back({"torch cached, " + kind, PartKind::kTorch, bytes, 0, {}});
                cached_bytes -= bytes;
            }
        }
        if (cached_bytes != 0) {
            const char* const name = "torch cached, outside of segments";
            ledger->parts.push_back({name, PartKind::kTorch, cached_bytes, 0, {}});
        }
    }

    void put_pools(Ledger* ledger) const {
        const auto reserved = static_cast<int64_t>(memory_.pool_reserved_bytes());
        const auto graphs = static_cast<int64_t>(memory_.graph_pool_bytes());
        const int64_t cached = reserved - static_cast<int64_t>(pooled_bytes_);
        if (cached != 0) {
            ledger->parts.push_back({"cached in pools of CUDA", PartKind::kPool, cached, 0, {}});
        }
        if (graphs != 0) {
            ledger->parts.push_back({"memory of CUDA graphs", PartKind::kGraphs, graphs, 0, {}});
        }
    }

    void put_steps(Ledger* ledger) const {
        static constexpr struct {
            Step step;
            const char* name;
            PartKind kind;
        } kSteps[] = {
            {Step::kContext, "further contexts", PartKind::kContext},
            {Step::kModules, "code that was loaded", PartKind::kContext},
            {Step::kLimits, "limits of the context", PartKind::kContext},
            {Step::kGraphs, "instances of graphs", PartKind::kGraphs},
            {Step::kGrowth, "grown between calls (lazily loaded code, stacks)", PartKind::kContext},
            {Step::kRounding, "rounding of requests", PartKind::kRounding},
        };
        const std::optional<uint64_t> others = other_bytes();
        const int64_t before = memory_.step_bytes(Step::kBefore) -
                               static_cast<int64_t>(memory_.other_bytes() ? 0 : others.value_or(0));
        if (before != 0) {
            const char* const name = others ? "context" : "context, and what others hold";
            ledger->parts.push_back({name, PartKind::kContext, before, 0, {}});
        }
        for (const auto& row : kSteps) {
            const int64_t bytes = memory_.step_bytes(row.step);
            if (bytes != 0) {
                ledger->parts.push_back({row.name, row.kind, bytes, 0, {}});
            }
        }
    }

    // See Note [Other processes].
    std::optional<uint64_t> other_bytes() const {
        return memory_.other_bytes() ? memory_.other_bytes() : moment_.next_other_bytes;
    }

    void put_others(Ledger* ledger) const {
        const std::optional<uint64_t> bytes = other_bytes();
        ledger->knows_others = bytes.has_value();
        if (bytes.value_or(0) != 0) {
            ledger->parts.push_back(
                {"other processes", PartKind::kOthers, static_cast<int64_t>(*bytes), 0, {}});
        }
    }

    void put_beside(Ledger* ledger) const {
        static constexpr std::pair<DriverKind, PartKind> kBeside[] = {
            {DriverKind::kPinned, PartKind::kPinned},
            {DriverKind::kRegistered, PartKind::kRegistered},
            {DriverKind::kPhysicalHost, PartKind::kPinned},
            {DriverKind::kManaged, PartKind::kManaged},
        };
        for (const auto& [driver_kind, kind] : kBeside) {
            LibraryRows rows(stacks_);
            for (const auto& [key, request] : memory_.requests()) {
                if (request.kind == driver_kind) {
                    rows.add(request);
                }
            }
            rows.put(kind, &ledger->beside);
        }
    }

    const LedgerMoment& moment_;
    const DriverMemory& memory_;
    const std::vector<TorchBlock>& blocks_;
    std::vector<bool> is_inside_;
    const TorchSegments& segments_;
    LibraryRows libraries_;
    StackLookup& stacks_;
    bool is_without_torch_ = false;
    uint64_t backing_bytes_ = 0;
    uint64_t own_segment_bytes_ = 0;
    uint64_t pooled_bytes_ = 0;
};

}  // namespace

Ledger make_ledger(const TraceReader& reader,
                   const Selection& selection,
                   StackLookup& stacks,
                   const Progress& progress) {
    need_standing(reader, "the ledger");
    ReplayRequest request = selection.request;
    request.phase_rules = &stacks.phase_rules();
    return make_ledger_at(reader, find_moment_event(reader, request, progress), stacks, progress);
}

Ledger make_ledger_at(const TraceReader& reader,
                      const MomentEvent& moment,
                      StackLookup& stacks,
                      const Progress& progress) {
    std::optional<Ledger> ledger = find_ledger_at(reader, moment, stacks, progress);
    if (!ledger) {
        throw TraceError(reader.name() + ": this trace does not record the use of device " +
                         std::to_string(moment.device) + ": record it again with this peakline");
    }
    return *std::move(ledger);
}

std::optional<Ledger> find_ledger_at(const TraceReader& reader,
                                     const MomentEvent& at,
                                     StackLookup& stacks,
                                     const Progress& progress) {
    const LedgerMoment moment = find_ledger_moment(reader, at, progress);
    if (!moment.memory.has_samples()) {
        return std::nullopt;
    }
    Ledger ledger;
    ledger.device = at.device;
    ledger.tick = at.tick;
    ledger.next_growth_bytes = moment.next_growth_bytes;
    LedgerMaker(moment, stacks).fill(&ledger);
    return ledger;
}

const char* part_kind_name(PartKind kind) {
    static constexpr const char* kNames[] = {"torch",
                                             "library",
                                             "pool",
                                             "graphs",
                                             "context",
                                             "rounding",
                                             "others",
                                             "pinned",
                                             "registered",
                                             "managed",
                                             "opened",
                                             "exported"};
    return kNames[static_cast<size_t>(kind)];
}

}  // namespace peakline::report
