#include "ledger.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "driver_memory.h"
#include "moment_event.h"
#include "report/attribute/grouping.h"
#include "report/attribute/operators/native_frames.h"
#include "report/symbols/frame_names.h"
#include "report/trace/file/trace_error.h"
#include "report/views/segments/live_addresses.h"

namespace peakline::report {
namespace {

using format::DriverAlloc;
using format::DriverKind;

struct TorchBlock {
    uint64_t address;
    uint64_t bytes;
    bool is_waiting;  // freed, but another stream may still use it
};

// What was there at the moment.
class LedgerFollower : public BlockFollower {
public:
    LedgerFollower(const BlockStream& stream, const MomentEvent& moment)
        : stream_(stream), moment_(moment), addresses_(stream), memory_(moment.device) {}

    void before_event(EventTime at) {
        if (!is_taken_ && at.event > moment_.event) {
            take();
        }
    }
    void on_alloc(const BlockAlloc& block) {
        if (block.shape.device == moment_.device) {
            addresses_.on_alloc(block);
        }
    }
    void on_free(const BlockFree& block) {
        if (block.shape.device == moment_.device) {
            addresses_.on_free(block);
        }
    }
    void on_rare(const RareEvent& event, EventTime) {
        if (!is_taken_) {
            memory_.apply(event);
        } else if (!is_next_seen_) {
            next_.apply(event);
            const auto sample = event.as<format::DriverSample>();
            is_next_seen_ = sample && sample->device == moment_.device;
        }
    }

    // Call after the pass.
    void finish() {
        if (!is_taken_) {
            take();
        }
    }
    const DriverMemory& memory() const { return memory_; }
    // What was found to have grown by itself at the first sample after the moment.
    int64_t next_growth_bytes() const {
        return is_next_seen_ ? next_.step_bytes(Step::kGrowth) - memory_.step_bytes(Step::kGrowth)
                             : 0;
    }
    // By address.
    const std::vector<TorchBlock>& blocks() const { return blocks_; }

private:
    void take() {
        is_taken_ = true;
        next_ = memory_;
        addresses_.for_each([&](uint64_t ordinal, const AllocationShape& shape, uint64_t address) {
            blocks_.push_back({address, shape.block_bytes, stream_.table().is_deferred(ordinal)});
        });
        std::sort(blocks_.begin(), blocks_.end(), [](const TorchBlock& a, const TorchBlock& b) {
            return a.address < b.address;
        });
    }

    const BlockStream& stream_;
    const MomentEvent& moment_;
    LiveAddresses addresses_;
    DriverMemory memory_;
    DriverMemory next_ = memory_;  // goes on to the first sample after the moment
    std::vector<TorchBlock> blocks_;
    bool is_taken_ = false;
    bool is_next_seen_ = false;
};

// A request of the driver that holds memory of the device, with where it lies.
struct Held {
    const DriverAlloc* request;
    // Address ranges: one, or those a physical handle is mapped at.
    std::vector<std::pair<uint64_t, uint64_t>> places;
};

std::vector<Held> held_of(const DriverMemory& memory) {
    std::vector<Held> held;
    std::map<uint64_t, size_t> of_handle;
    for (const auto& [key, request] : memory.requests()) {
        const bool has_address =
            request.kind != DriverKind::kPhysical && request.kind != DriverKind::kArray;
        if (format::is_on_device(request.kind) || request.kind == DriverKind::kAsync) {
            if (request.kind == DriverKind::kPhysical) {
                of_handle[request.key] = held.size();
            }
            held.push_back({&request, {}});
            if (has_address) {
                held.back().places.push_back({request.key, request.bytes});
            }
        }
    }
    // Kinds are in the order of their numbers: mappings come after physical memory.
    for (const auto& [key, request] : memory.requests()) {
        const auto found =
            request.kind == DriverKind::kMapping ? of_handle.find(request.owner) : of_handle.end();
        if (found != of_handle.end()) {
            held[found->second].places.push_back({request.key, request.bytes});
        }
    }
    return held;
}

class SegmentIndex {
public:
    explicit SegmentIndex(std::vector<SegmentRange> ranges) : ranges_(std::move(ranges)) {}

    bool holds(uint64_t address) const {
        const auto after = std::upper_bound(
            ranges_.begin(), ranges_.end(), address, [](uint64_t at, const SegmentRange& range) {
                return at < range.address;
            });
        return after != ranges_.begin() && address < std::prev(after)->end();
    }
    uint64_t bytes() const {
        uint64_t sum = 0;
        for (const SegmentRange& range : ranges_) {
            sum += range.bytes;
        }
        return sum;
    }

private:
    std::vector<SegmentRange> ranges_;
};

// Bytes of torch's blocks that begin within; `is_inside` learns which do.
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

bool begins_with(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

// The runtime and what only passes calls on are nobody's name.
bool passes_on(std::string_view file) {
    for (const std::string_view prefix :
         {"libcudart", "libcuda.so", "libsimgpu", "libpeakline", "libffi", "_ctypes"}) {
        if (begins_with(file, prefix)) {
            return true;
        }
    }
    return false;
}

// The first library of the native stack that asks for itself.
std::string library_of(StackLookup& stacks, uint32_t context) {
    const Definitions& definitions = stacks.definitions();
    std::string innermost;
    std::string chosen;
    visit_native_frames(stacks, definitions.contexts[context].native_node, [&](uint32_t frame) {
        const std::string file(file_name_of(stacks.symbols().path(frame)));
        innermost = innermost.empty() ? file : innermost;
        chosen = passes_on(file) ? std::string() : file;
        return chosen.empty();
    });
    return !chosen.empty() ? chosen : !innermost.empty() ? innermost : "unknown library";
}

class Rows {
public:
    explicit Rows(StackLookup& stacks) : stacks_(stacks) {}

    void add(const DriverAlloc& request) {
        const auto context = static_cast<uint32_t>(request.context);
        Row& row = rows_[library_of(stacks_, context)];
        row.bytes += request.bytes;
        ++row.count;
        BlockGroup group;
        group.context = context;
        const Label label = place_by_line(stacks_, group).label;
        LedgerLine& line = row.lines.try_emplace(label.key, LedgerLine{label}).first->second;
        line.bytes += request.bytes;
        ++line.count;
    }

    // Most bytes first.
    void put(PartKind kind, std::vector<LedgerPart>* parts) const {
        const size_t begin = parts->size();
        for (const auto& [name, row] : rows_) {
            LedgerPart part{name, kind, static_cast<int64_t>(row.bytes), row.count, {}};
            for (const auto& [key, line] : row.lines) {
                part.lines.push_back(line);
            }
            std::stable_sort(part.lines.begin(),
                             part.lines.end(),
                             [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
            parts->push_back(std::move(part));
        }
        std::stable_sort(parts->begin() + static_cast<std::ptrdiff_t>(begin),
                         parts->end(),
                         [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    }

private:
    struct Row {
        uint64_t bytes = 0;
        uint64_t count = 0;
        std::map<std::string, LedgerLine> lines;  // by key
    };

    StackLookup& stacks_;
    std::map<std::string, Row> rows_;  // by library
};

class LedgerMaker {
public:
    LedgerMaker(const LedgerFollower& follower, StackLookup& stacks)
        : memory_(follower.memory()),
          blocks_(follower.blocks()),
          is_inside_(follower.blocks().size()),
          segments_(follower.memory().segments().now()),
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
        put_beside(ledger);
        ledger->unexplained_bytes = ledger->used_bytes;
        for (const LedgerPart& part : ledger->parts) {
            ledger->unexplained_bytes -= part.bytes;
        }
    }

private:
    // Blocks that are the driver's own requests are no torch's.
    void leave_driver_blocks_out() {
        for (const auto& [key, request] : memory_.requests()) {
            if ((request.flags & format::kIsAlsoBlock) != 0) {
                is_without_torch_ = true;
            }
        }
    }

    // Each request backs a segment of torch, or blocks of torch without one, or is a library's.
    void share_requests() {
        for (const Held& held : held_of(memory_)) {
            const DriverAlloc& request = *held.request;
            const bool is_pooled = request.kind == DriverKind::kAsync;
            bool is_backing = false;
            uint64_t block_bytes = 0;
            for (const auto& [address, bytes] : held.places) {
                is_backing = is_backing || segments_.holds(address);
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
        int64_t lost = 0;  // of blocks in no memory that the trace knows
        for (size_t i = 0; i < blocks_.size() && !is_without_torch_; ++i) {
            live += blocks_[i].is_waiting ? 0 : static_cast<int64_t>(blocks_[i].bytes);
            const bool has_place = is_inside_[i] || segments_.holds(blocks_[i].address);
            lost += has_place ? 0 : static_cast<int64_t>(blocks_[i].bytes);
        }
        const int64_t reserved = segment_bytes + static_cast<int64_t>(own_segment_bytes_) + lost;
        if (!is_without_torch_ || segment_bytes != 0) {
            ledger->parts.push_back({"torch live", PartKind::kTorch, live, 0, {}});
            ledger->parts.push_back({"torch cached", PartKind::kTorch, reserved - live, 0, {}});
        }
        // vLLM's sleep, and its kind: the segment stays, its memory is given back.
        const int64_t asleep = segment_bytes - static_cast<int64_t>(backing_bytes_) -
                               static_cast<int64_t>(memory_.unseen_segment_bytes());
        if (asleep != 0) {
            ledger->parts.push_back(
                {"torch segments without memory", PartKind::kTorch, -asleep, 0, {}});
        }
    }

    void put_pools(Ledger* ledger) const {
        int64_t reserved = 0;
        int64_t graphs = 0;
        for (const auto& [key, level] : memory_.pools()) {
            (key != 0 ? reserved : graphs) += static_cast<int64_t>(level.reserved_bytes);
        }
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
            {Step::kBefore, "context, and what others hold", PartKind::kContext},
            {Step::kContext, "further contexts", PartKind::kContext},
            {Step::kModules, "code that was loaded", PartKind::kContext},
            {Step::kLimits, "limits of the context", PartKind::kContext},
            {Step::kGraphs, "instances of graphs", PartKind::kGraphs},
            {Step::kGrowth, "grown between calls (lazily loaded code, stacks)", PartKind::kContext},
            {Step::kRounding, "rounding of requests", PartKind::kRounding},
        };
        for (const auto& row : kSteps) {
            const int64_t bytes = memory_.step_bytes(row.step);
            if (bytes != 0) {
                ledger->parts.push_back({row.name, row.kind, bytes, 0, {}});
            }
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
            Rows rows(stacks_);
            for (const auto& [key, request] : memory_.requests()) {
                if (request.kind == driver_kind) {
                    rows.add(request);
                }
            }
            rows.put(kind, &ledger->beside);
        }
    }

    const DriverMemory& memory_;
    const std::vector<TorchBlock>& blocks_;
    std::vector<bool> is_inside_;
    SegmentIndex segments_;
    Rows libraries_;
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
    if (reader.is_bounded()) {
        throw TraceError(reader.name() +
                         ": the ledger needs every event: record it without --keep");
    }
    ReplayRequest request = selection.request;
    request.phase_rules = &stacks.phase_rules();
    return make_ledger_at(reader, find_moment_event(reader, request, progress), stacks, progress);
}

Ledger make_ledger_at(const TraceReader& reader,
                      const MomentEvent& moment,
                      StackLookup& stacks,
                      const Progress& progress) {
    BlockStream stream(reader);
    LedgerFollower follower(stream, moment);
    stream.run(progress, follower);
    follower.finish();
    if (!follower.memory().has_samples()) {
        throw TraceError(reader.name() + ": this trace does not say what is in use on device " +
                         std::to_string(moment.device) + ": record it again with this peakline");
    }
    Ledger ledger;
    ledger.device = moment.device;
    ledger.tick = moment.tick;
    ledger.next_growth_bytes = follower.next_growth_bytes();
    LedgerMaker(follower, stacks).fill(&ledger);
    return ledger;
}

const char* part_kind_name(PartKind kind) {
    static constexpr const char* kNames[] = {"torch",
                                             "library",
                                             "pool",
                                             "graphs",
                                             "context",
                                             "rounding",
                                             "pinned",
                                             "registered",
                                             "managed",
                                             "imported"};
    return kNames[static_cast<size_t>(kind)];
}

}  // namespace peakline::report
