// Streams, events, and the capture of streams into graphs. Work completes at once: a stream only
// holds its position in a capture and the collectives that wait for other ranks. Each piece of work
// calls enqueue(), which adds a node if the stream is being captured. Not thread-safe: the world's
// lock guards every call.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <unordered_set>
#include <vector>

#include <cuda.h>

#include "model/devices/device.h"
#include "model/streams/graph.h"
#include "model/values/operation.h"

namespace simgpu {

struct Capture;

struct Stream {
    Context* context = nullptr;
    unsigned flags = 0;
    int priority = 0;
    uint64_t id = 0;
    bool is_legacy = false;
    Capture* capture = nullptr;
    std::vector<GraphNode*> frontier;  // the captured nodes before the next one
    Operations unfinished;
};

struct Capture {
    uint64_t id = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id thread;
    Stream* origin = nullptr;
    Graph* graph = nullptr;
    std::unique_ptr<Graph> own_graph;  // empty if the program passed the graph
    std::unordered_set<Stream*> streams;
    bool is_invalid = false;
};

struct Event {
    int device = 0;
    unsigned flags = 0;
    bool was_recorded = false;
    double time_ms = 0;
    uint64_t capture_id = 0;  // not 0: recorded in this capture
    std::vector<GraphNode*> frontier;
    Operations unfinished;
    uint64_t queries_left = 0;  // number of queries that find it unfinished; see Note [Late events]
};

// Note [Late events]
// Work takes no time here, so an event would be finished as soon as it is recorded. With
// PEAKLINE_SIM_LATE_EVENTS=N the first N queries of an event find it unfinished, unless the program
// waited for anything in between. A program then sees the same as on a busy device.
class Streams {
public:
    static Streams& instance();

    Stream* create(Context* context, unsigned flags, int priority);
    CUresult destroy(Stream* stream);
    // Destroys the streams of a context that is reset.
    void destroy_all_of(const Context* context);
    // Resolves a handle, also of a default stream of this context; null when unknown.
    Stream* resolve(CUstream handle, Context* context);

    Event* create_event(int device, unsigned flags);
    CUresult destroy_event(Event* event);
    bool is_event(const Event* event) const {
        return events_.count(const_cast<Event*>(event)) != 0;
    }
    CUresult record_event(Event* event, Stream* stream);
    CUresult wait_event(Stream* stream, Event* event);
    CUresult query_event(const Event* event) const;
    // Counts a query. Returns false if the event is late.
    static bool comes_in_time(Event* event);
    // Call when the program has waited: no event is late any more.
    void finish_events();

    CUresult begin_capture(Stream* stream,
                           CUstreamCaptureMode mode,
                           Graph* into,
                           std::vector<GraphNode*> dependencies);
    CUresult end_capture(Stream* stream, Graph** graph);
    bool is_capturing() const { return !captures_.empty(); }
    CUstreamCaptureStatus capture_status(const Stream* stream) const;

    // Adds one piece of work. The node is null if nothing is being captured.
    CUresult enqueue(Stream* stream, CUgraphNodeType type, GraphNode** node = nullptr);
    // For calls that wait: if the stream is being captured, returns an error and invalidates the
    // capture.
    CUresult check_may_wait(Stream* stream);
    Operations unfinished_of(const Context* context) const;
    CUresult check_may_wait_for_device(const Context* context);
    // For calls that the driver documents as potentially unsafe while this thread captures.
    CUresult check_unsafe_call();

private:
    Capture* find_capture(uint64_t id) const;
    CUresult join_capture(Stream* stream, const Event* event);

    std::unordered_set<Stream*> streams_;
    std::unordered_set<Event*> events_;
    std::vector<std::unique_ptr<Capture>> captures_;
    // Default streams by context: legacy and per-thread.
    std::vector<std::unique_ptr<Stream>> default_streams_;
    uint64_t next_id_ = 16;
};

// How this thread treats unsafe calls; cuThreadExchangeStreamCaptureMode swaps it.
CUstreamCaptureMode& thread_capture_mode();

}  // namespace simgpu
