// The rules of stream capture, as the driver documents them. See Note [Capture].

#include "model/streams/stream.h"

#include <algorithm>
#include <chrono>

#include "model/memory/world.h"

// Note [Capture]
// A capture starts at its origin stream. Another stream joins when it waits for an event recorded
// in the capture, and must lead back to the origin, again through an event, before the end.
// A stream's frontier is the set of nodes that its next node depends on. An error in between
// makes the capture invalid; it then ends with an error and no graph.

namespace simgpu {
namespace {

double now_ms() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(now).count();
}

void merge_frontier(std::vector<GraphNode*>* into, const std::vector<GraphNode*>& from) {
    for (GraphNode* node : from) {
        if (std::find(into->begin(), into->end(), node) == into->end()) {
            into->push_back(node);
        }
    }
}

// The work of this stream comes before something that the origin has waited for.
bool has_rejoined(const Stream& stream, const Stream& origin) {
    return std::all_of(stream.frontier.begin(), stream.frontier.end(), [&](const GraphNode* node) {
        return std::any_of(origin.frontier.begin(),
                           origin.frontier.end(),
                           [&](const GraphNode* last) { return leads_to(node, last); });
    });
}

}  // namespace

CUstreamCaptureMode& thread_capture_mode() {
    static thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    return mode;
}

Streams& Streams::instance() {
    static auto* const streams = new Streams;
    return *streams;
}

Stream* Streams::create(Context* context, unsigned flags, int priority) {
    auto* const stream = new Stream;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = next_id_++;
    streams_.insert(stream);
    return stream;
}

CUresult Streams::destroy(Stream* stream) {
    if (streams_.count(stream) == 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (stream->capture != nullptr) {
        stream->capture->is_invalid = true;
        stream->capture->streams.erase(stream);
    }
    streams_.erase(stream);
    delete stream;
    return CUDA_SUCCESS;
}

void Streams::destroy_all_of(const Context* context) {
    const std::vector<Stream*> streams(streams_.begin(), streams_.end());
    for (Stream* const stream : streams) {
        if (stream->context == context) {
            destroy(stream);
        }
    }
    const std::vector<Event*> events(events_.begin(), events_.end());
    for (Event* const event : events) {
        if (event->device == context->device) {
            destroy_event(event);
        }
    }
}

Stream* Streams::resolve(CUstream handle, Context* context) {
    const bool is_legacy = handle == nullptr || handle == CU_STREAM_LEGACY;
    if (!is_legacy && handle != CU_STREAM_PER_THREAD) {
        auto* const stream = reinterpret_cast<Stream*>(handle);
        return streams_.count(stream) != 0 ? stream : nullptr;
    }
    for (const auto& stream : default_streams_) {
        if (stream->context == context && stream->is_legacy == is_legacy) {
            return stream.get();
        }
    }
    auto stream = std::make_unique<Stream>();
    stream->context = context;
    stream->is_legacy = is_legacy;
    stream->id = next_id_++;
    default_streams_.push_back(std::move(stream));
    return default_streams_.back().get();
}

Event* Streams::create_event(int device, unsigned flags) {
    auto* const event = new Event;
    event->device = device;
    event->flags = flags;
    events_.insert(event);
    return event;
}

CUresult Streams::destroy_event(Event* event) {
    if (events_.erase(event) == 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    delete event;
    return CUDA_SUCCESS;
}

Capture* Streams::find_capture(uint64_t id) const {
    for (const auto& capture : captures_) {
        if (capture->id == id) {
            return capture.get();
        }
    }
    return nullptr;
}

CUresult Streams::record_event(Event* event, Stream* stream) {
    event->was_recorded = true;
    event->time_ms = now_ms();
    event->capture_id = stream->capture == nullptr ? 0 : stream->capture->id;
    event->frontier = stream->capture == nullptr ? std::vector<GraphNode*>{} : stream->frontier;
    event->unfinished = stream->unfinished;
    return CUDA_SUCCESS;
}

CUresult Streams::wait_event(Stream* stream, Event* event) {
    if (!event->was_recorded) {
        return CUDA_SUCCESS;
    }
    if (event->capture_id != 0 && find_capture(event->capture_id) != nullptr) {
        return join_capture(stream, event);
    }
    if (stream->capture != nullptr) {
        stream->capture->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    std::erase_if(stream->unfinished, [](const auto& held) { return held->is_done; });
    for (const auto& operation : event->unfinished) {
        if (!operation->is_done) {
            stream->unfinished.push_back(operation);
        }
    }
    return CUDA_SUCCESS;
}

CUresult Streams::join_capture(Stream* stream, const Event* event) {
    Capture* const capture = find_capture(event->capture_id);
    if (stream->is_legacy) {
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (stream->capture != nullptr && stream->capture != capture) {
        stream->capture->is_invalid = true;
        capture->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (stream->capture == nullptr) {
        stream->capture = capture;
        stream->frontier.clear();
        capture->streams.insert(stream);
    }
    merge_frontier(&stream->frontier, event->frontier);
    return CUDA_SUCCESS;
}

CUresult Streams::query_event(const Event* event) const {
    if (event->capture_id != 0 && find_capture(event->capture_id) != nullptr) {
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    return CUDA_SUCCESS;
}

CUresult Streams::begin_capture(Stream* stream,
                                CUstreamCaptureMode mode,
                                Graph* into,
                                std::vector<GraphNode*> dependencies) {
    if (stream->is_legacy) {
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (stream->capture != nullptr) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    auto capture = std::make_unique<Capture>();
    capture->id = World::instance().next_id();
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->origin = stream;
    if (into == nullptr) {
        capture->own_graph = std::make_unique<Graph>();
        capture->own_graph->id = capture->id;
        into = capture->own_graph.get();
    }
    capture->graph = into;
    capture->streams.insert(stream);
    stream->capture = capture.get();
    stream->frontier = std::move(dependencies);
    captures_.push_back(std::move(capture));
    return CUDA_SUCCESS;
}

CUresult Streams::end_capture(Stream* stream, Graph** graph) {
    *graph = nullptr;
    Capture* const capture = stream->capture;
    if (capture == nullptr) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    if (capture->origin != stream) {
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        capture->thread != std::this_thread::get_id()) {
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    CUresult result = CUDA_SUCCESS;
    if (capture->is_invalid) {
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    for (Stream* joined : capture->streams) {
        if (result == CUDA_SUCCESS && !has_rejoined(*joined, *stream)) {
            result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        }
    }
    for (Stream* joined : capture->streams) {
        joined->capture = nullptr;
        joined->frontier.clear();
    }
    if (result == CUDA_SUCCESS) {
        *graph = capture->own_graph != nullptr ? capture->own_graph.release() : capture->graph;
    }
    std::erase_if(captures_, [capture](const auto& held) { return held.get() == capture; });
    return result;
}

CUstreamCaptureStatus Streams::capture_status(const Stream* stream) const {
    if (stream->capture == nullptr) {
        return CU_STREAM_CAPTURE_STATUS_NONE;
    }
    return stream->capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                       : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult Streams::enqueue(Stream* stream, CUgraphNodeType type, GraphNode** node) {
    Capture* const capture = stream->capture;
    if (capture != nullptr) {
        if (capture->is_invalid) {
            return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        }
        GraphNode* const added = capture->graph->add_node(type, std::move(stream->frontier));
        stream->frontier = {added};
        if (node != nullptr) {
            *node = added;
        }
        return CUDA_SUCCESS;
    }
    if (!stream->is_legacy) {
        return CUDA_SUCCESS;
    }
    // The legacy stream waits for every blocking stream, which a captured one cannot answer.
    for (const auto& active : captures_) {
        const Stream* const origin = active->origin;
        if (origin->context == stream->context && (origin->flags & CU_STREAM_NON_BLOCKING) == 0) {
            active->is_invalid = true;
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    }
    return CUDA_SUCCESS;
}

CUresult Streams::check_may_wait(Stream* stream) {
    if (stream->capture != nullptr) {
        stream->capture->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult Streams::check_may_wait_for_device(const Context* context) {
    CUresult result = CUDA_SUCCESS;
    for (const auto& capture : captures_) {
        if (capture->origin->context == context) {
            capture->is_invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return result;
}

Operations Streams::unfinished_of(const Context* context) const {
    Operations all;
    for (const Stream* stream : streams_) {
        if (stream->context == context) {
            all.insert(all.end(), stream->unfinished.begin(), stream->unfinished.end());
        }
    }
    for (const auto& stream : default_streams_) {
        if (stream->context == context) {
            all.insert(all.end(), stream->unfinished.begin(), stream->unfinished.end());
        }
    }
    return all;
}

CUresult Streams::check_unsafe_call() {
    const CUstreamCaptureMode mode = thread_capture_mode();
    if (captures_.empty() || mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_SUCCESS;
    }
    for (const auto& capture : captures_) {
        const bool is_own = capture->thread == std::this_thread::get_id();
        const bool forbids = is_own ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                    : mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                          capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (forbids) {
            capture->is_invalid = true;
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return CUDA_SUCCESS;
}

}  // namespace simgpu
