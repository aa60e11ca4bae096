// Streams and events as objects; capture.cpp has the rules of capture.

#include "model/streams/stream.h"

#include <chrono>
#include <cstdlib>

namespace simgpu {
namespace {

double now_ms() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(now).count();
}

// See Note [Late events].
uint64_t late_queries() {
    static const char* const text = std::getenv("PEAKLINE_SIM_LATE_EVENTS");
    static const uint64_t queries = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
    return queries;
}

}  // namespace

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

CUresult Streams::record_event(Event* event, Stream* stream) {
    event->was_recorded = true;
    event->time_ms = now_ms();
    event->capture_id = stream->capture == nullptr ? 0 : stream->capture->id;
    event->frontier = stream->capture == nullptr ? std::vector<GraphNode*>{} : stream->frontier;
    event->unfinished = stream->unfinished;
    event->queries_left = late_queries();
    return CUDA_SUCCESS;
}

bool Streams::comes_in_time(Event* event) {
    if (event->queries_left == 0) {
        return true;
    }
    --event->queries_left;
    return false;
}

void Streams::finish_events() {
    if (late_queries() != 0) {
        for (Event* event : events_) {
            event->queries_left = 0;
        }
    }
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

CUresult Streams::query_event(const Event* event) const {
    if (event->capture_id != 0 && find_capture(event->capture_id) != nullptr) {
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    return CUDA_SUCCESS;
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

}  // namespace simgpu
