#include "events.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "report/replay/all_facts.h"
#include "report/replay/calls/memory_levels.h"
#include "report/replay/phases/find_ranges.h"
#include "report/replay/values/device_names.h"
#include "report/views/calls/event_phases.h"

namespace peakline::report {
namespace {

// A row before it is added to the columns.
struct EventRow {
    EventKind kind = EventKind::kAlloc;
    uint64_t block = kNoNumber;
    uint64_t bytes = kNoNumber;
    uint64_t requested_bytes = kNoNumber;
    uint64_t address = kNoNumber;
    uint32_t device = kNoId;
    uint32_t stream = kNoId;
    uint32_t context = kNoId;
    uint32_t free_node = kNoId;
    Phase phase = Phase::kNone;
    uint32_t thread = kNoId;
    uint32_t text = kNoId;
    uint32_t tensor_type = kNoId;
};

EventKind kind_of(FreeKind kind) {
    switch (kind) {
        case FreeKind::kDeferred:
            return EventKind::kFreeRequested;
        case FreeKind::kCompleted:
            return EventKind::kFreeCompleted;
        case FreeKind::kPlain:
            break;
    }
    return EventKind::kFree;
}

std::optional<EventKind> kind_of(format::MarkKind kind) {
    switch (kind) {
        case format::MarkKind::kTracingStarted:
            return EventKind::kTracingStarted;
        case format::MarkKind::kTracingStopped:
            return EventKind::kTracingStopped;
        case format::MarkKind::kPhaseBegin:
            return EventKind::kPhaseBegin;
        case format::MarkKind::kPhaseEnd:
            return EventKind::kPhaseEnd;
        case format::MarkKind::kStep:
            return EventKind::kStep;
        case format::MarkKind::kNote:
            return EventKind::kNote;
        case format::MarkKind::kMainEnd:
            return EventKind::kMainEnd;
        default:
            return std::nullopt;
    }
}

EventKind kind_of(format::SegmentAction action) {
    switch (action) {
        case format::SegmentAction::kAlloc:
            return EventKind::kSegmentAlloc;
        case format::SegmentAction::kFree:
            return EventKind::kSegmentFree;
        case format::SegmentAction::kMap:
            return EventKind::kSegmentMap;
        case format::SegmentAction::kUnmap:
            break;
    }
    return EventKind::kSegmentUnmap;
}

}  // namespace

class EventList::Lister : public BlockFollower {
public:
    Lister(const TraceReader& reader,
           const Selection& selection,
           StackLookup& stacks,
           const PhaseTable& phases,
           const AllFacts& facts,
           std::vector<EventRange> during)
        : reader_(reader),
          rules_(stacks.phase_rules()),
          event_phases_(phases),
          facts_(facts),
          contexts_(stacks, phases),
          window_(std::move(during)),
          shows_host_(!reader.has_gpu_memory()) {
        if (selection.request.device.kind == DeviceChoiceKind::kNumber) {
            device_ = selection.request.device.number;
        }
    }

    void restore(const Checkpoint& checkpoint) {
        knows_segments_ = checkpoint.standing.has_value();
        for (uint32_t device = 0; device < format::kMaxGpus; ++device) {
            if (checkpoint.view(device, format::Measure::kAllocated) != nullptr) {
                levels_of(device).restore_segments(checkpoint);
            }
        }
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            const BaselineBlock& block = checkpoint.blocks[ordinal];
            addresses_[ordinal] = block.address;
            if (!block.is_deferred) {
                levels_of(block.shape.device).on_alloc(block.shape.block_bytes);
            }
        }
    }

    void on_alloc(const BlockAlloc& block) {
        const AllocationShape& shape = block.shape;
        levels_of(shape.device).on_alloc(shape.block_bytes);
        addresses_[block.ordinal] = block.address;
        if (!shows(shape.device, block.at)) {
            return;
        }
        EventRow row = row_of(EventKind::kAlloc, block.ordinal, shape);
        row.phase = rules_.contexts[shape.context].phase;
        row.thread = contexts_.thread_of(shape.context);
        add(row, block.at);
    }

    void on_free(const BlockFree& block) {
        const AllocationShape& shape = block.shape;
        levels_of(shape.device).on_free(shape.block_bytes, block.kind);
        if (shows(shape.device, block.at)) {
            EventRow row = row_of(kind_of(block.kind), block.ordinal, shape);
            if (block.context != 0) {
                row.free_node = contexts_.node_of(block.context);
            }
            add(row, block.at);
        }
        if (block.kind != FreeKind::kDeferred) {
            addresses_.erase(block.ordinal);
        }
    }

    void on_rare(const RareEvent& event, EventTime at) {
        if (const auto segment = event.as<format::Segment>()) {
            add_segment(*segment, at);
        } else if (const auto failed = event.as<format::OutOfMemory>()) {
            EventRow row;
            row.kind = EventKind::kOutOfMemory;
            row.device = static_cast<uint32_t>(failed->device);
            row.bytes = failed->requested_bytes;
            row.free_node = contexts_.node_of(static_cast<uint32_t>(failed->context));
            add_shown(row, at);
        } else if (const auto mark = event.as<format::Mark>()) {
            if (const auto kind = kind_of(mark->kind)) {
                add_mark(*kind, mark->thread, mark->text, at);
            }
        } else if (const auto scope = event.as<format::Scope>()) {
            const bool begins = scope->action == format::ScopeAction::kBegin;
            add_mark(begins ? EventKind::kPhaseBegin : EventKind::kPhaseEnd,
                     scope->thread,
                     scope->name,
                     at);
        }
    }

    // The columns since the last clear().
    EventColumns& columns() { return columns_; }
    const PageNames& names() const { return contexts_.names(); }

private:
    LevelFollower& levels_of(uint32_t device) {
        const auto [at, is_new] = levels_.try_emplace(device, LevelFollower(device));
        return at->second;
    }
    bool shows(uint32_t device, EventTime at) {
        return window_.contains(at.event) &&
               (device == kNoId || (shows_host_ && !device_) || is_counted(device_, device));
    }

    EventRow row_of(EventKind kind, uint64_t ordinal, const AllocationShape& shape) {
        EventRow row;
        row.kind = kind;
        row.block = ordinal;
        row.bytes = shape.block_bytes;
        row.requested_bytes = shape.requested_bytes;
        const auto address = addresses_.find(ordinal);
        row.address = address != addresses_.end() ? address->second : kNoNumber;
        row.device = shape.device;
        row.stream = shape.stream;
        row.context = contexts_.of(shape, ordinal, facts_.of(ordinal));
        const uint32_t type = reader_.definitions().type_of(ordinal);
        row.tensor_type = type != 0 ? type : kNoId;
        return row;
    }

    void add_segment(const format::Segment& segment, EventTime at) {
        const auto device = static_cast<uint32_t>(segment.device);
        levels_of(device).on_segment(segment);
        EventRow row;
        row.kind = kind_of(segment.action);
        row.bytes = segment.bytes;
        row.address = segment.address;
        row.device = device;
        row.stream = static_cast<uint32_t>(segment.stream);
        add_shown(row, at);
    }

    void add_mark(EventKind kind, uint64_t thread, uint64_t text, EventTime at) {
        EventRow row;
        row.kind = kind;
        row.thread = static_cast<uint32_t>(thread);
        row.text = text != 0 ? static_cast<uint32_t>(text) : kNoId;
        add_shown(row, at);
    }

    void add_shown(const EventRow& row, EventTime at) {
        if (shows(row.device, at)) {
            add(row, at);
        }
    }

    void add(const EventRow& row, EventTime at) {
        columns_.event.push_back(at.event);
        columns_.seconds.push_back(reader_.seconds(at.tick));
        columns_.kind.push_back(static_cast<uint8_t>(row.kind));
        columns_.block.push_back(row.block);
        columns_.bytes.push_back(row.bytes);
        columns_.requested_bytes.push_back(row.requested_bytes);
        columns_.address.push_back(row.address);
        columns_.device.push_back(row.device);
        // An undefined stream has no known handle.
        const bool is_defined = reader_.definitions().streams.has(row.stream);
        columns_.stream.push_back(is_defined ? row.stream : kNoId);
        const bool has_level = row.device != kNoId;
        const MemoryLevels levels = has_level ? levels_of(row.device).now() : MemoryLevels();
        columns_.allocated_bytes.push_back(has_level ? levels.allocated_bytes : kNoNumber);
        columns_.reserved_bytes.push_back(has_level && knows_segments_ &&
                                                  levels_of(row.device).has_segments()
                                              ? levels.reserved_bytes
                                              : kNoNumber);
        columns_.context.push_back(row.context);
        columns_.free_node.push_back(row.free_node);
        columns_.phase.push_back(static_cast<uint8_t>(event_phases_.phase(row.phase, at.event)));
        columns_.step.push_back(event_phases_.step(at.event).value_or(kNoId));
        columns_.thread.push_back(row.thread);
        columns_.text.push_back(row.text);
        columns_.tensor_type.push_back(row.tensor_type);
    }

    const TraceReader& reader_;
    const PhaseRules& rules_;
    EventPhases event_phases_;
    const AllFacts& facts_;
    PageContexts contexts_;
    EventWindow window_;
    std::optional<uint32_t> device_;  // nullopt: all GPUs
    bool shows_host_;                 // there is no GPU
    std::map<uint32_t, LevelFollower> levels_;
    std::unordered_map<uint64_t, uint64_t> addresses_;  // of live blocks, by ordinal
    bool knows_segments_ = true;
    EventColumns columns_;
};

void EventColumns::clear() {
    *this = EventColumns();
}

// The state of next().
struct EventList::Pass {
    Pass(const TraceReader& reader,
         const Selection& selection,
         StackLookup& stacks,
         const Progress& progress)
        : first(reader),
          phases(first, stacks.phase_rules(), {format::Measure::kAllocated, true}),
          facts(reader, stacks.phase_rules(), format::Measure::kAllocated, phases),
          table(phases_of(progress)),
          stream(reader),
          lister(reader,
                 selection,
                 stacks,
                 table,
                 facts,
                 need_ranges(reader, table, selection.during, progress)),
          steps(stream, lister) {}

    PhaseTable phases_of(const Progress& progress) {
        first.run(progress, phases, facts);
        return phases.finish().table;
    }

    BlockStream first;
    PhaseReplay phases;
    AllFacts facts;
    PhaseTable table;
    BlockStream stream;
    Lister lister;
    BlockStream::Steps<Lister> steps;
};

EventList::EventList(const TraceReader& reader,
                     const Selection& selection,
                     StackLookup& stacks,
                     const Progress& progress)
    : pass_(std::make_unique<Pass>(reader, selection, stacks, progress)) {}

EventList::~EventList() = default;

const EventColumns& EventList::next() {
    EventColumns& columns = pass_->lister.columns();
    columns.clear();
    while (columns.size() == 0 && pass_->steps.next()) {
    }
    return columns;
}

const PageNames& EventList::names() const {
    return pass_->lister.names();
}

}  // namespace peakline::report
