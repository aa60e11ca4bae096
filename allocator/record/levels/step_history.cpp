#include "step_history.h"

#include <algorithm>
#include <utility>

namespace peakline::record {
namespace {

using format::SampleSource;

// Only address space.
constexpr size_t kMostContexts = size_t{1} << 24;
// Fewer samples than these do not distinguish growth from chance.
constexpr size_t kLeastSamples = 16;

}  // namespace

bool StepHistory::begin_trace() {
    for (const Slot& slot : slots_) {
        first_slots_[slot.key.context] = 0;
    }
    is_whole_ = true;
    const bool has_room =
        samples_.clear_with_room(kMostSamples) && changes_.clear_with_room(kMostChanges) &&
        slots_.clear_with_room(kMostSlots) && first_slots_.clear_with_room(kMostContexts);
    if (has_room) {
        begin_source(SampleSource::kParts);
    }
    return has_room;
}

// Samples of one source are not comparable with those of another.
void StepHistory::begin_source(SampleSource source) {
    source_ = source;
    resumes_ = ends_last_again_ = false;
    step_count_ = last_ordinal_ = peak_bytes_ = 0;
    steps_per_sample_ = 1;
    samples_.clear();
    changes_.clear();
    for (Slot& slot : slots_) {
        slot.last = Level();
    }
}

bool StepHistory::ends_optimizer_step(StepAction action, uint64_t next_ordinal) {
    if (source_ == SampleSource::kMarks) {
        return false;
    }
    if (action == StepAction::kBackwardBegun) {
        resumes_ = false;
        return false;
    }
    if (action == StepAction::kOptimizerBegun || action == StepAction::kZeroGradBegun) {
        resumes_ = source_ == SampleSource::kOptimizer && follows_step(next_ordinal);
        return false;
    }
    if (action == StepAction::kZeroGradEnded && !resumes_) {
        return false;
    }
    if (source_ == SampleSource::kParts) {
        begin_source(SampleSource::kOptimizer);
    }
    ends_last_again_ = resumes_;
    resumes_ = false;
    return true;
}

bool StepHistory::may_go_on(uint64_t next_ordinal) const {
    return source_ == SampleSource::kOptimizer && (resumes_ || follows_step(next_ordinal));
}

bool StepHistory::ends_marked_step() {
    if (source_ != SampleSource::kMarks) {
        begin_source(SampleSource::kMarks);
        return false;  // the first one begins
    }
    return true;
}

void StepHistory::end_step(const Moment& moment, const LiveSet& live_set) {
    const bool is_again = std::exchange(ends_last_again_, false);
    const uint64_t step = is_again ? step_count_ - 1 : step_count_++;
    last_ordinal_ = moment.next_ordinal;
    peak_bytes_ = std::max(peak_bytes_, moment.peak_bytes);
    if (!is_whole_ || !is_sampled(step)) {
        return;
    }
    if (is_again && samples_.size() != 0) {
        Sample& last = samples_[samples_.size() - 1];
        peak_bytes_ = std::max(peak_bytes_, last.at.peak_bytes);
        samples_.resize_untouched(samples_.size() - 1);
    }
    measure(live_set);
    put_changes();
    samples_.push({moment, changes_.size()});
    samples_[samples_.size() - 1].at.peak_bytes = std::exchange(peak_bytes_, 0);
    while (is_whole_ && (samples_.size() == kMostSamples || changes_.size() > kMostChanges / 2)) {
        halve();
    }
}

void StepHistory::measure(const LiveSet& live_set) {
    for (Slot& slot : slots_) {
        slot.now = Level();
    }
    live_set.for_each([this](const LiveBlock& block) {
        if ((block.flags & kFreeRequested) != 0) {
            return;
        }
        if (Slot* const slot = slot_of({block.context, block.device})) {
            slot->now.block_bytes += static_cast<int64_t>(block.block_bytes);
            slot->now.requested_bytes += static_cast<int64_t>(block.requested_bytes);
            ++slot->now.count;
        }
    });
}

StepHistory::Slot* StepHistory::slot_of(ContextOnDevice key) {
    if (key.context >= first_slots_.capacity()) {
        is_whole_ = false;
        return nullptr;
    }
    if (key.context >= first_slots_.size()) {
        first_slots_.resize_untouched(key.context + size_t{1});
    }
    for (uint32_t at = first_slots_[key.context]; at != 0; at = slots_[at - 1].next) {
        if (slots_[at - 1].key.device == key.device) {
            return &slots_[at - 1];
        }
    }
    Slot slot = {};
    slot.key = key;
    slot.next = first_slots_[key.context];
    if (!slots_.push(slot)) {
        is_whole_ = false;
        return nullptr;
    }
    first_slots_[key.context] = static_cast<uint32_t>(slots_.size());
    return &slots_[slots_.size() - 1];
}

void StepHistory::put_changes() {
    for (uint32_t number = 0; number < slots_.size(); ++number) {
        Slot& slot = slots_[number];
        const Change change = {number,
                               slot.now.block_bytes - slot.last.block_bytes,
                               slot.now.requested_bytes - slot.last.requested_bytes,
                               slot.now.count - slot.last.count};
        slot.last = slot.now;
        const bool is_change =
            change.block_bytes != 0 || change.requested_bytes != 0 || change.count != 0;
        is_whole_ = is_whole_ && (!is_change || changes_.push(change));
    }
}

// Keeps the later of every two samples, with the changes of both. A last sample without a partner
// stays open: the next sample gets its changes.
void StepHistory::halve() {
    steps_per_sample_ *= 2;
    const size_t pair_count = samples_.size() / 2;
    size_t kept_changes = 0;
    size_t from = 0;
    const auto merge_to = [&](size_t end) {
        const size_t first = kept_changes;
        for (; from < end; ++from) {
            const Change change = changes_[from];
            size_t& at = slots_[change.slot].merged_at;
            if (at >= first && at < kept_changes && changes_[at].slot == change.slot) {
                changes_[at].block_bytes += change.block_bytes;
                changes_[at].requested_bytes += change.requested_bytes;
                changes_[at].count += change.count;
            } else {
                at = kept_changes;
                changes_[kept_changes++] = change;
            }
        }
    };
    for (size_t pair = 0; pair < pair_count; ++pair) {
        const Sample first = samples_[2 * pair];
        Sample second = samples_[2 * pair + 1];
        merge_to(second.change_end);
        second.change_end = kept_changes;
        second.at.peak_bytes = std::max(first.at.peak_bytes, second.at.peak_bytes);
        samples_[pair] = second;
    }
    if (samples_.size() % 2 != 0) {
        peak_bytes_ = std::max(peak_bytes_, samples_[samples_.size() - 1].at.peak_bytes);
        merge_to(changes_.size());
    }
    samples_.resize_untouched(pair_count);
    changes_.resize_untouched(kept_changes);
    is_whole_ = pair_count >= kLeastSamples;
}

}  // namespace peakline::record
