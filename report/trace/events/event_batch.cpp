#include "event_batch.h"

#include <utility>

namespace peakline::report {

BatchQueue::BatchQueue() {
    full_.reserve(kBatches);
    for (EventBatch& batch : batches_) {
        empty_.push_back(&batch);
    }
}

EventBatch* BatchQueue::take_empty() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [this] { return is_cancelled_ || !empty_.empty(); });
    if (is_cancelled_) {
        return nullptr;
    }
    EventBatch* const batch = empty_.back();
    empty_.pop_back();
    return batch;
}

void BatchQueue::put_full(EventBatch* batch) {
    const std::lock_guard guard(lock_);
    full_.push_back(batch);
    changed_.notify_all();
}

void BatchQueue::end(std::exception_ptr error) {
    const std::lock_guard guard(lock_);
    is_ended_ = true;
    error_ = std::move(error);
    changed_.notify_all();
}

EventBatch* BatchQueue::take_full() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [this] { return is_ended_ || !full_.empty(); });
    if (full_.empty()) {
        if (error_ != nullptr) {
            std::rethrow_exception(error_);
        }
        return nullptr;
    }
    EventBatch* const batch = full_.front();
    full_.erase(full_.begin());
    return batch;
}

void BatchQueue::put_empty(EventBatch* batch) {
    const std::lock_guard guard(lock_);
    empty_.push_back(batch);
    changed_.notify_all();
}

void BatchQueue::cancel() {
    const std::lock_guard guard(lock_);
    is_cancelled_ = true;
    changed_.notify_all();
}

}  // namespace peakline::report
