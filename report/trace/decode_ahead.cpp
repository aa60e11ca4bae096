#include "decode_ahead.h"

#include <csignal>
#include <exception>
#include <system_error>

#include <sched.h>

namespace peakline::report {
namespace {

constexpr size_t kChunksThatPay = 8;

// Those this process may use.
int core_count() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

void decode(BatchQueue& queue, EventStream& stream) {
    std::exception_ptr error;
    try {
        BatchFiller filler(queue);
        EventDecoder<BatchFiller> decoder(filler, stream.position());
        while (stream.next_chunk()) {
            stream.finish_chunk(decoder.decode(stream.payload()));
            filler.end_chunk(stream.fraction_done());
        }
    } catch (const FillingCancelled&) {
        // Whoever asked for it knows.
    } catch (...) {
        error = std::current_exception();
    }
    queue.end(error);
}

}  // namespace

bool decodes_ahead(Decoding asked, size_t chunk_count) {
    return asked == Decoding::kAhead ||
           (asked == Decoding::kWhereItPays && chunk_count >= kChunksThatPay && core_count() > 1);
}

std::unique_ptr<DecodingThread> DecodingThread::start(BatchQueue& queue, EventStream& stream) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread inherits it
    std::unique_ptr<DecodingThread> started;
    try {
        std::thread thread([&queue, &stream] { decode(queue, stream); });
        started.reset(new DecodingThread(queue, std::move(thread)));
    } catch (const std::system_error&) {
        // The caller does without.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

DecodingThread::~DecodingThread() {
    queue_.cancel();
    thread_.join();
}

}  // namespace peakline::report
