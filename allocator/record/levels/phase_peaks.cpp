#include "phase_peaks.h"

namespace peakline::record {
namespace {

using format::Measure;

constexpr size_t kSideCapacity = size_t{1} << 22;

// Keeps the peak as a number; its blocks are in the view's groups.
void restore(PeakTracker& tracker, uint64_t level_bytes) {
    tracker.restore(
        level_bytes, tracker.peak_bytes(), tracker.peak_tick(), tracker.total_allocated_bytes());
}

}  // namespace

void PhasePeaks::reset(bool with_views) {
    with_views_ = with_views;
    for (uint32_t i = 0; i < view_count_; ++i) {
        View& view = views_[i];
        view.phase = 0;
        view.is_active = false;
        view.allocated.reset();
        view.requested.reset();
        view.allocated_groups.reset();
        view.requested_groups.reset();
    }
    view_count_ = active_count_ = 0;
}

void PhasePeaks::begin_phase(uint32_t phase) {
    for (uint32_t i = 0; i < open_count_; ++i) {
        if (open_[i].phase == phase) {
            ++open_[i].depth;
            return;
        }
    }
    if (open_count_ == kMaxOpen) {
        ++dropped_count_;
        return;
    }
    open_[open_count_++] = OpenPhase{phase, 1};
}

void PhasePeaks::end_phase(uint32_t phase) {
    for (uint32_t i = 0; i < open_count_; ++i) {
        if (open_[i].phase == phase && --open_[i].depth == 0) {
            open_[i] = open_[--open_count_];
            return;
        }
    }
}

uint32_t PhasePeaks::depth_of(uint32_t phase) const {
    for (uint32_t i = 0; i < open_count_; ++i) {
        if (open_[i].phase == phase) {
            return open_[i].depth;
        }
    }
    return 0;
}

PhasePeaks::View* PhasePeaks::view_of(uint32_t phase, uint32_t device) {
    for (uint32_t i = 0; i < view_count_; ++i) {
        if (views_[i].phase == phase && views_[i].device == device) {
            return &views_[i];
        }
    }
    if (view_count_ == kMaxViews) {
        ++dropped_count_;
        return nullptr;
    }
    View& view = views_[view_count_];
    // Reuse the side lists of an earlier recording.
    const bool is_ready =
        view.allocated.freed_since_peak().capacity() != 0 ||
        (view.allocated.init(kSideCapacity) && view.requested.init(kSideCapacity));
    if (!is_ready) {
        ++dropped_count_;
        return nullptr;
    }
    ++view_count_;
    view.phase = phase;
    view.device = device;
    return &view;
}

void PhasePeaks::update(const Moment& now, const LiveSet& live_set) {
    if (!with_views_) {
        return;
    }
    for (uint32_t i = 0; i < view_count_; ++i) {
        if (views_[i].is_active && (!now.is_tracing || depth_of(views_[i].phase) == 0)) {
            rest(views_[i], live_set);
        }
    }
    for (uint32_t i = 0; i < open_count_ && now.is_tracing; ++i) {
        for (uint32_t j = 0; j < now.level_count; ++j) {
            View* view = view_of(open_[i].phase, now.levels[j].device);
            if (view != nullptr && !view->is_active) {
                activate(*view, now.levels[j], now);
            }
        }
    }
}

void PhasePeaks::activate(View& view, const DeviceLevel& level, const Moment& now) {
    view.is_active = true;
    ++active_count_;
    restore(view.allocated, level.allocated_bytes);
    restore(view.requested, level.requested_bytes);
    view.allocated.start(now.last_ordinal, now.has_allocations, now.tick);
    view.requested.start(now.last_ordinal, now.has_allocations, now.tick);
}

void PhasePeaks::rest(View& view, const LiveSet& live_set) {
    view.allocated_groups.update(view.allocated, live_set, {view.device, Measure::kAllocated});
    view.requested_groups.update(view.requested, live_set, {view.device, Measure::kRequested});
    restore(view.allocated, 0);
    restore(view.requested, 0);
    view.allocated.stop();
    view.requested.stop();
    view.is_active = false;
    --active_count_;
}

void PhasePeaks::gather(const LiveSet& live_set) {
    for (uint32_t i = 0; i < view_count_; ++i) {
        View& view = views_[i];
        if (view.is_active) {
            view.allocated_groups.update(
                view.allocated, live_set, {view.device, Measure::kAllocated});
            view.requested_groups.update(
                view.requested, live_set, {view.device, Measure::kRequested});
        }
    }
}

void PhasePeaks::on_alloc(const LiveBlock& block, uint64_t tick, bool is_traced) {
    for (uint32_t i = 0; i < view_count_; ++i) {
        View& view = views_[i];
        if (!view.is_active || view.device != block.device) {
            continue;
        }
        if (is_traced) {
            view.allocated.on_alloc(block.ordinal, block.block_bytes, tick);
            view.requested.on_alloc(block.ordinal, block.requested_bytes, tick);
        } else {
            view.allocated.on_untraced_alloc(block.ordinal, block.block_bytes, tick);
            view.requested.on_untraced_alloc(block.ordinal, block.requested_bytes, tick);
        }
    }
}

void PhasePeaks::on_free_allocated(const LiveBlock& block) {
    for (uint32_t i = 0; i < view_count_; ++i) {
        if (views_[i].is_active && views_[i].device == block.device) {
            views_[i].allocated.on_free(block, block.block_bytes);
        }
    }
}

void PhasePeaks::on_free_requested(const LiveBlock& block) {
    for (uint32_t i = 0; i < view_count_; ++i) {
        if (views_[i].is_active && views_[i].device == block.device) {
            views_[i].requested.on_free(block, block.requested_bytes);
        }
    }
}

}  // namespace peakline::record
