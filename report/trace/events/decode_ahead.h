// Decodes a trace on a second thread while this one computes the report. Reading, checksums and
// decoding are near half of the work of a pass over the events. Visitors get the same events in the
// same order either way.
#pragma once

#include <memory>
#include <thread>
#include <utility>

#include "event_batch.h"
#include "event_stream.h"

namespace peakline::report {

enum class Decoding {
    kWhereItPays,  // ahead if a core is idle and the trace is long
    kHere,
    kAhead,
};

// Whether a second thread is worth starting for a trace of this many chunks.
bool decodes_ahead(Decoding decoding, size_t chunk_count);

// The decoding thread. It blocks all signals: they belong to the program.
class DecodingThread {
public:
    // Returns nullptr when the system refuses another thread.
    static std::unique_ptr<DecodingThread> start(BatchQueue& queue, EventStream& stream);
    // Stops decoding early and joins.
    ~DecodingThread();
    DecodingThread(const DecodingThread&) = delete;
    DecodingThread& operator=(const DecodingThread&) = delete;

private:
    DecodingThread(BatchQueue& queue, std::thread thread)
        : queue_(queue), thread_(std::move(thread)) {}

    BatchQueue& queue_;
    std::thread thread_;
};

// Decodes every event of `stream` into `visitor` on this thread.
template <class Visitor>
void visit_here(EventStream& stream, Visitor& visitor, const Progress& progress) {
    EventDecoder<Visitor> decoder(visitor, stream.position());
    while (stream.next_chunk()) {
        stream.finish_chunk(decoder.decode(stream.payload()));
        if (progress) {
            progress(stream.fraction_done());
        }
    }
}

template <class Visitor>
void visit_ahead(EventStream& stream, Visitor& visitor, const Progress& progress) {
    BatchQueue queue;
    const auto thread = DecodingThread::start(queue, stream);
    if (thread == nullptr) {
        visit_here(stream, visitor, progress);
        return;
    }
    while (EventBatch* const batch = queue.take_full()) {
        batch->replay_into(visitor);
        if (progress) {
            progress(batch->fraction_done);
        }
        queue.put_empty(batch);
    }
}

template <class Visitor>
EventTotals visit_events(EventStream& stream,
                         Visitor& visitor,
                         const Progress& progress,
                         bool ahead) {
    ahead ? visit_ahead(stream, visitor, progress) : visit_here(stream, visitor, progress);
    return stream.take_totals();
}

}  // namespace peakline::report
