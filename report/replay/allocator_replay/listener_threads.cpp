#include "listener_threads.h"

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include <sched.h>

namespace peakline::report {
namespace {

constexpr size_t kChunksThatPay = 16;  // some million events; shorter traces take no time

size_t core_count() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? static_cast<size_t>(CPU_COUNT(&cores))
                                                           : 1;
}

}  // namespace

void ListenerThreads::Batch::clear() {
    operations.clear();
    requests.clear();
    segments.clear();
    calls.clear();
    settings.clear();
    memory.clear();
    events.clear();
}

void ListenerThreads::Batch::replay_into(AllocatorListener& listener) const {
    for (const Operation& one : operations) {
        switch (one.kind) {
            case Kind::kRequest:
                listener.on_request(requests[one.index]);
                break;
            case Kind::kRefused:
                listener.on_refused(requests[one.index], one.operand);
                break;
            case Kind::kFreeRequested:
                listener.on_free_requested(one.operand);
                break;
            case Kind::kFreeCompleted:
                listener.on_free_completed(one.operand);
                break;
            case Kind::kFreed:
                listener.on_freed(one.operand);
                break;
            case Kind::kSegment:
                listener.on_segment(segments[one.index].change, segments[one.index].at);
                break;
            case Kind::kCall:
                listener.on_call(calls[one.index]);
                break;
            case Kind::kSettings:
                listener.on_settings(settings[one.index]);
                break;
            case Kind::kMemory:
                listener.on_memory(memory[one.index]);
                break;
            case Kind::kOthers:
                listener.on_others(one.operand);
                break;
            case Kind::kEvent:
                listener.on_event(events[one.index]);
                break;
        }
    }
}

ListenerThreads::ListenerThreads(const std::vector<AllocatorListener*>& listeners,
                                 Threading threading,
                                 size_t chunk_count)
    : batches_(kBatches) {
    for (AllocatorListener* const listener : listeners) {
        readers_.push_back({listener});
    }
    const size_t cores = core_count();
    if (threading == Threading::kAlways ||
        (threading == Threading::kWhereItPays && cores > 1 && chunk_count >= kChunksThatPay)) {
        start(std::min(readers_.size(), std::max<size_t>(cores, 2)));
    }
}

// The threads block all signals: they belong to the program.
void ListenerThreads::start(size_t thread_count) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread inherits it
    threads_.reserve(thread_count);
    try {
        while (threads_.size() < thread_count) {
            threads_.emplace_back([this] { work(); });
        }
    } catch (const std::system_error&) {
        // Continue with the started threads; without any, this thread calls the listeners.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ListenerThreads::~ListenerThreads() {
    {
        const std::lock_guard guard(lock_);
        is_ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

uint64_t ListenerThreads::least_read() const {
    const auto least =
        std::min_element(readers_.begin(), readers_.end(), [](const auto& one, const auto& two) {
            return one.read_count < two.read_count;
        });
    return least == readers_.end() ? put_count_ : least->read_count;
}

// Returns the idle reader that is furthest behind, so that all readers finish a batch before its
// slot is reused.
ListenerThreads::Reader* ListenerThreads::next_reader() {
    Reader* next = nullptr;
    for (Reader& reader : readers_) {
        const bool may_go_on = !reader.is_busy && reader.read_count < put_count_;
        if (may_go_on && (next == nullptr || reader.read_count < next->read_count)) {
            next = &reader;
        }
    }
    return next;
}

void ListenerThreads::work() {
    std::unique_lock guard(lock_);
    while (!is_ended_) {
        Reader* const reader = next_reader();
        if (reader == nullptr) {
            changed_.wait(guard);
            continue;
        }
        reader->is_busy = true;
        const Batch& batch = batches_[reader->read_count % kBatches];
        guard.unlock();
        std::exception_ptr error;
        try {
            batch.replay_into(*reader->listener);
        } catch (...) {
            error = std::current_exception();
        }
        guard.lock();
        reader->is_busy = false;
        ++reader->read_count;
        if (error != nullptr) {
            error_ = error;
            is_ended_ = true;
        }
        changed_.notify_all();
    }
}

void ListenerThreads::put_batch() {
    if (threads_.empty()) {
        for (const Reader& reader : readers_) {
            open().replay_into(*reader.listener);
        }
    } else {
        std::unique_lock guard(lock_);
        ++put_count_;
        changed_.notify_all();
        // Every reader must have finished the next slot in the ring.
        changed_.wait(guard, [this] { return is_ended_ || put_count_ - least_read() < kBatches; });
        if (error_ != nullptr) {
            std::rethrow_exception(error_);
        }
    }
    open().clear();
}

void ListenerThreads::finish() {
    put_batch();
    std::unique_lock guard(lock_);
    changed_.wait(guard,
                  [this] { return is_ended_ || threads_.empty() || least_read() == put_count_; });
    if (error_ != nullptr) {
        std::rethrow_exception(error_);
    }
}

void ListenerThreads::add(Kind kind, uint64_t operand, size_t index) {
    Batch& batch = open();
    batch.operations.push_back({operand, static_cast<uint32_t>(index), kind});
    if (batch.operations.size() == kBatchOperations) {
        put_batch();
    }
}

void ListenerThreads::on_request(const RecordedRequest& request) {
    open().requests.push_back(request);
    add(Kind::kRequest, 0, open().requests.size() - 1);
}

void ListenerThreads::on_refused(const RecordedRequest& request, uint64_t free_bytes) {
    open().requests.push_back(request);
    add(Kind::kRefused, free_bytes, open().requests.size() - 1);
}

void ListenerThreads::on_free_requested(uint64_t ordinal) {
    add(Kind::kFreeRequested, ordinal);
}

void ListenerThreads::on_free_completed(uint64_t ordinal) {
    add(Kind::kFreeCompleted, ordinal);
}

void ListenerThreads::on_freed(uint64_t ordinal) {
    add(Kind::kFreed, ordinal);
}

void ListenerThreads::on_segment(const SegmentChange& change, EventTime at) {
    open().segments.push_back({change, at});
    add(Kind::kSegment, 0, open().segments.size() - 1);
}

void ListenerThreads::on_call(const format::AllocatorCall& call) {
    open().calls.push_back(call);
    add(Kind::kCall, 0, open().calls.size() - 1);
}

void ListenerThreads::on_settings(const AllocatorSettings& settings) {
    open().settings.push_back(settings);
    add(Kind::kSettings, 0, open().settings.size() - 1);
}

void ListenerThreads::on_memory(const format::DeviceMemory& memory) {
    open().memory.push_back(memory);
    add(Kind::kMemory, 0, open().memory.size() - 1);
}

void ListenerThreads::on_others(uint64_t bytes) {
    add(Kind::kOthers, bytes);
}

void ListenerThreads::on_event(EventTime at) {
    open().events.push_back(at);
    add(Kind::kEvent, 0, open().events.size() - 1);
}

}  // namespace peakline::report
