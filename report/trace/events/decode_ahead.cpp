#include "decode_ahead.h"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <system_error>

#include <sched.h>
#include <unistd.h>

namespace peakline::report {
namespace {

constexpr size_t kChunksThatPay = 128;  // some ten million events; shorter traces take no time
constexpr double kIdleThatPays = 0.5;   // cores

// Counts the cores that this process may use. On busy cores, handing events over costs more than it
// saves.
bool has_core_to_spare() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) < 2) {
        return false;
    }
    double load = 0;
    const auto online = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
    return getloadavg(&load, 1) != 1 || online - load >= kIdleThatPays;
}

void decode(BatchQueue& queue, EventStream& stream) {
    std::exception_ptr error;
    try {
        BatchFiller filler(queue);
        visit_here(stream, filler, [&filler](double done) { filler.end_chunk(done); });
    } catch (const FillingCancelled&) {
        // The consumer cancelled: it knows.
    } catch (...) {
        error = std::current_exception();
    }
    queue.end(error);
}

}  // namespace

bool decodes_ahead(Decoding decoding, size_t chunk_count) {
    return decoding == Decoding::kAhead || (decoding == Decoding::kWhereItPays &&
                                            chunk_count >= kChunksThatPay && has_core_to_spare());
}

std::unique_ptr<DecodingThread> DecodingThread::start(BatchQueue& queue, EventStream& stream) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread inherits it
    std::unique_ptr<DecodingThread> started;
    try {
        // Make the object first: destroying a thread that nobody joined would end the process.
        started.reset(
            new DecodingThread(queue, std::thread([&queue, &stream] { decode(queue, stream); })));
    } catch (const std::system_error&) {
        // The caller decodes on its own thread.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

DecodingThread::~DecodingThread() {
    queue_.cancel();
    thread_.join();
}

}  // namespace peakline::report
