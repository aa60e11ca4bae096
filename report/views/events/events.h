// Every event of a trace in its order, as columns, a batch at a time. Makes two passes: the first
// collects the life of every block, in 12 bytes each; the second reads the events, with one chunk
// in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "report/trace/reader.h"
#include "report/views/page/page_contexts.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

enum class EventKind : uint8_t {
    kAlloc,
    kFree,
    // Freed by the program while another stream used it; then reusable.
    kFreeRequested,
    kFreeCompleted,
    kSegmentAlloc,
    kSegmentFree,
    kSegmentMap,
    kSegmentUnmap,
    kOutOfMemory,
    kPhaseBegin,
    kPhaseEnd,
    kStep,
    kNote,
    kTracingStarted,
    kTracingStopped,
    kMainEnd,
};
inline constexpr const char* kEventKindNames[] = {"alloc",
                                                  "free",
                                                  "free_requested",
                                                  "free_completed",
                                                  "segment_alloc",
                                                  "segment_free",
                                                  "segment_map",
                                                  "segment_unmap",
                                                  "oom",
                                                  "phase_begin",
                                                  "phase_end",
                                                  "step",
                                                  "note",
                                                  "tracing_started",
                                                  "tracing_stopped",
                                                  "main_end"};

// The value of a column without a value.
inline constexpr uint64_t kNoNumber = std::numeric_limits<uint64_t>::max();
inline constexpr uint32_t kNoId = std::numeric_limits<uint32_t>::max();

// One entry per event.
struct EventColumns {
    std::vector<uint64_t> event;            // its number in the trace, from 0
    std::vector<double> seconds;            // since the start of the trace
    std::vector<uint8_t> kind;              // EventKind
    std::vector<uint64_t> block;            // number of the block, from 0
    std::vector<uint64_t> bytes;            // of the block, the segment or the request
    std::vector<uint64_t> requested_bytes;  // of a block: the program's request
    std::vector<uint64_t> address;
    std::vector<uint32_t> device;
    std::vector<uint32_t> stream;  // 0: the default one, else from 1 in Definitions::streams
    std::vector<uint64_t> allocated_bytes;  // of the device, after the event
    std::vector<uint64_t> reserved_bytes;   // the same; kNoNumber: unknown to the trace
    std::vector<uint32_t> context;          // of the block: id in PageNames::contexts
    std::vector<uint32_t> free_node;        // where it was freed: id in PageNames::nodes
    std::vector<uint8_t> phase;             // Phase
    std::vector<uint32_t> step;
    // the thread that allocated, or wrote the mark: id in Definitions
    std::vector<uint32_t> thread;
    std::vector<uint32_t> text;         // of a mark: string id
    std::vector<uint32_t> tensor_type;  // of the tensor in the block: id in Definitions

    size_t size() const { return event.size(); }
    void clear();
};

// Events of the requested device, or of all GPUs, or of the host if there is no GPU; in the
// requested part of the run.
class EventList {
public:
    // The arguments must outlive this. Throws TraceError as other reports do.
    EventList(const TraceReader& reader,
              const Selection& selection,
              StackLookup& stacks,
              const Progress& progress = {});
    ~EventList();

    // Returns the next events; none at the end. Valid until the next call.
    const EventColumns& next();
    // The meanings of the columns' numbers; grows.
    const PageNames& names() const;

private:
    class Lister;
    struct Pass;

    std::unique_ptr<Pass> pass_;
};

}  // namespace peakline::report
