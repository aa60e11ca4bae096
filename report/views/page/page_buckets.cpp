#include "page_buckets.h"

#include <algorithm>
#include <span>

namespace peakline::report {

std::vector<PageChange> sum_of(std::span<const PageChange> first,
                               std::span<const PageChange> second) {
    std::vector<PageChange> sum;
    sum.reserve(first.size() + second.size());
    size_t i = 0;
    size_t j = 0;
    while (i < first.size() || j < second.size()) {
        PageChange change;
        const bool takes_first =
            j == second.size() || (i < first.size() && first[i].context <= second[j].context);
        const bool takes_second =
            i == first.size() || (j < second.size() && second[j].context <= first[i].context);
        change.context = takes_first ? first[i].context : second[j].context;
        if (takes_first) {
            change.bytes += first[i].bytes;
            change.count += first[i].count;
            ++i;
        }
        if (takes_second) {
            change.bytes += second[j].bytes;
            change.count += second[j].count;
            ++j;
        }
        if (change.bytes != 0 || change.count != 0) {
            sum.push_back(change);
        }
    }
    return sum;
}

// ---- points -----------------------------------------------------------------------------------

void PagePoints::open(uint64_t tick, Height level, const CategoryLevels& categories) {
    if (points_.size() == 2 * max_count_) {
        join_pairs();
    }
    points_.push_back({tick, tick, passed_count_, level, level.bytes, reserved_bytes_, categories});
    event_count_ = 0;
}

void PagePoints::on_event(uint64_t tick, Height level, const CategoryLevels& categories) {
    ++passed_count_;
    if (points_.empty() || event_count_ == width_) {
        open(tick, level, categories);
    } else {
        consider(tick, level, categories);
        count_reserved();
    }
    ++event_count_;
}

void PagePoints::count_reserved() {
    if (!points_.empty()) {
        uint64_t& most = points_.back().max_reserved_bytes;
        most = std::max(most, reserved_bytes_);
    }
}

void PagePoints::on_reserved(uint64_t bytes) {
    if (bytes < reserved_bytes_) {
        count_reserved();  // a gain without a following allocation
    }
    reserved_bytes_ = bytes;
}

void PagePoints::finish() {
    count_reserved();
}

size_t PagePoints::highest() const {
    size_t highest = 0;
    for (size_t i = 1; i < points_.size(); ++i) {
        highest = points_[i].peak.above(points_[highest].peak) ? i : highest;
    }
    return highest;
}

void PagePoints::consider(uint64_t tick, Height level, const CategoryLevels& categories) {
    if (points_.empty()) {
        open(tick, level, categories);
        return;
    }
    PagePoint& point = points_.back();
    point.min_bytes = std::min(point.min_bytes, level.bytes);
    if (level.above(point.peak)) {
        point.peak = level;
        point.peak_tick = tick;
        point.peak_event = passed_count_;
        point.categories = categories;
    }
}

void PagePoints::join_pairs() {
    for (size_t i = 0; i < points_.size(); i += 2) {
        PagePoint joined = points_[i];
        if (i + 1 < points_.size()) {
            const PagePoint& second = points_[i + 1];
            joined = second.peak.above(joined.peak) ? second : joined;
            joined.begin_tick = points_[i].begin_tick;
            joined.min_bytes = std::min(points_[i].min_bytes, second.min_bytes);
            joined.max_reserved_bytes =
                std::max(points_[i].max_reserved_bytes, second.max_reserved_bytes);
        }
        points_[i / 2] = joined;
    }
    points_.resize((points_.size() + 1) / 2);
    width_ *= 2;
}

// ---- moments ----------------------------------------------------------------------------------

void PageMoments::on_event(const PageChange& change, Height level) {
    if (is_open_ && event_count_ == width_) {
        close();
    }
    sets_.add(change);
    consider(level);
    ++event_count_;
}

void PageMoments::consider(Height level) {
    if (!is_open_ || level.above(highest_)) {
        is_open_ = true;
        highest_ = level;
        sets_.mark();
    }
}

void PageMoments::finish() {
    if (is_open_) {
        close();
    }
}

void PageMoments::close() {
    sets_.close(&changes_);
    moments_.push_back({highest_, changes_.size()});
    is_open_ = false;
    event_count_ = 0;
    // Pairs must stay aligned: an odd last moment would be half as wide as the others.
    const bool is_even = moments_.size() % 2 == 0;
    if (is_even && (moments_.size() == 2 * max_count_ || changes_.size() > max_changes_)) {
        join_pairs();
    }
}

void PageMoments::join_pairs() {
    std::vector<PageMoment> moments;
    std::vector<PageChange> changes;
    std::vector<PageChange>
        skipped;  // from the last kept moment to the one after it, which was lower
    size_t begin = 0;
    const auto of = [&](size_t i) {
        const std::span<const PageChange> all(changes_);
        const auto part = all.subspan(begin, moments_[i].change_end - begin);
        begin = moments_[i].change_end;
        return part;
    };
    for (size_t i = 0; i < moments_.size(); i += 2) {
        std::vector<PageChange> to_this = sum_of(skipped, of(i));
        skipped.clear();
        Height peak = moments_[i].peak;
        if (i + 1 < moments_.size()) {
            const auto second = of(i + 1);
            if (moments_[i + 1].peak.above(peak)) {
                peak = moments_[i + 1].peak;
                to_this = sum_of(to_this, second);
            } else {
                skipped.assign(second.begin(), second.end());
            }
        }
        changes.insert(changes.end(), to_this.begin(), to_this.end());
        moments.push_back({peak, changes.size()});
    }
    sets_.take_back(skipped);
    moments_ = std::move(moments);
    changes_ = std::move(changes);
    width_ *= 2;
}

bool PageMoments::coarsen() {
    if (moments_.size() <= 1) {
        return false;
    }
    join_pairs();
    return true;
}

std::vector<PageChange> PageMoments::live_at(size_t moment) const {
    std::vector<PageChange> live(sets_.context_count());
    for (size_t i = 0; i < moments_[moment].change_end; ++i) {
        live[changes_[i].context].bytes += changes_[i].bytes;
        live[changes_[i].context].count += changes_[i].count;
    }
    for (size_t i = 0; i < live.size(); ++i) {
        live[i].context = static_cast<uint32_t>(i);
    }
    std::erase_if(live, [](const PageChange& one) { return one.bytes == 0 && one.count == 0; });
    return live;
}

}  // namespace peakline::report
