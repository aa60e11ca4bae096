// Decodes a trace on a second thread while this one reports: reading, checksums and decoding are
// near half of the work of a pass over the events. What a visitor gets, and in what order, is
// the same with and without.
#pragma once

#include <memory>
#include <thread>
#include <utility>

#include "event_batch.h"
#include "event_stream.h"

namespace peakline::report {

enum class Decoding {
    kWhereItPays,  // ahead where a core is idle and the trace has some length
    kHere,
    kAhead,
};

// Whether a second thread is worth its start for a trace of so many chunks.
bool decodes_ahead(Decoding asked, size_t chunk_count);

// The thread that decodes. It takes no signals: they are the program's.
class DecodingThread {
public:
    // nullptr when the system refuses another thread.
    static std::unique_ptr<DecodingThread> start(BatchQueue& queue, EventStream& stream);
    // Lets the decoding end where it is.
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
        batch->tell(visitor);
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
