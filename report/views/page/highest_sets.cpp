#include "highest_sets.h"

#include <algorithm>

namespace peakline::report {

HighestSets::Context& HighestSets::touched(uint32_t context) {
    if (context >= contexts_.size()) {
        contexts_.resize(context + 1);
    }
    Context& one = contexts_[context];
    if (!one.is_changed) {
        one.is_changed = true;
        changed_.push_back(context);
    }
    return one;
}

void HighestSets::add(const PageChange& change) {
    Context& context = touched(change.context);
    if (!context.is_since_highest) {
        context.is_since_highest = true;
        since_highest_.push_back(change.context);
    }
    for (Sum* const sum : {&context.now, &context.since_highest}) {
        sum->bytes += change.bytes;
        sum->count += change.count;
    }
}

void HighestSets::mark() {
    for (const uint32_t number : since_highest_) {
        contexts_[number].since_highest = {};
        contexts_[number].is_since_highest = false;
    }
    since_highest_.clear();
}

void HighestSets::close(std::vector<PageChange>* changes) {
    std::sort(changed_.begin(), changed_.end());
    for (const uint32_t number : changed_) {
        Context& one = contexts_[number];
        one.is_changed = false;
        const Sum highest = {one.now.bytes - one.since_highest.bytes,
                             one.now.count - one.since_highest.count};
        const PageChange change = {
            number, highest.bytes - one.closed.bytes, highest.count - one.closed.count};
        if (change.bytes != 0 || change.count != 0) {
            changes->push_back(change);
            one.closed = highest;
        }
    }
    changed_.clear();
    for (const uint32_t number : since_highest_) {
        touched(number);
    }
    mark();
}

void HighestSets::take_back(const std::vector<PageChange>& changes) {
    for (const PageChange& change : changes) {
        Sum& closed = touched(change.context).closed;
        closed.bytes -= change.bytes;
        closed.count -= change.count;
    }
}

std::vector<PageChange> HighestSets::live_now() const {
    std::vector<PageChange> live;
    for (uint32_t number = 0; number < contexts_.size(); ++number) {
        const Sum& now = contexts_[number].now;
        if (now.bytes != 0 || now.count != 0) {
            live.push_back({number, now.bytes, now.count});
        }
    }
    return live;
}

}  // namespace peakline::report
