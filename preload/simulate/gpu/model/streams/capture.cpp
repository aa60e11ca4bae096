// The rules of stream capture, as the driver documents them. See Note [Capture].

#include <algorithm>

#include "model/memory/world.h"
#include "model/streams/stream.h"

// Note [Capture]
// A capture starts at its origin stream. Another stream joins when it waits for an event recorded
// in the capture. It must rejoin the origin, again through an event, before the end. A stream's
// frontier is the set of nodes on which its next node depends. An error makes the capture invalid;
// it then ends with an error and no graph.

namespace simgpu {
namespace {

void merge_frontier(std::vector<GraphNode*>* into, const std::vector<GraphNode*>& from) {
    for (GraphNode* node : from) {
        if (std::find(into->begin(), into->end(), node) == into->end()) {
            into->push_back(node);
        }
    }
}

// Whether the origin has waited for all work of this stream.
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

Capture* Streams::find_capture(uint64_t id) const {
    for (const auto& capture : captures_) {
        if (capture->id == id) {
            return capture.get();
        }
    }
    return nullptr;
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
    // The legacy stream waits for every blocking stream, which is impossible for a captured one.
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
