// The rare records: segments, refused requests, the driver, marks, scopes and steps.
#include "recorder.h"

namespace peakline::record {

using format::MarkKind;

void Recorder::record_segment(format::SegmentAction action,
                              uint32_t device,
                              uint32_t stream,
                              uint64_t address,
                              uint64_t bytes,
                              uint64_t pool) {
    open_if_waiting();
    const LockGuard guard(lock_);
    if (usable_) {
        const uint64_t tick = clock_.now_tick();
        writer_.put(format::Segment{action, device, stream, address, bytes}, tick);
        put_pool(pool, tick);
        check_writer();
    }
}

void Recorder::record_driver_alloc(const format::DriverAlloc& request) {
    if (format::is_on_device(request.kind) || request.kind == format::DriverKind::kAsync ||
        format::is_page_locked(request.kind)) {
        open_if_waiting();
    }
    record(request);
}

void Recorder::record_out_of_memory(const format::OutOfMemory& request,
                                    const format::Refusal& refusal,
                                    uint64_t pool) {
    open_if_waiting();
    const LockGuard guard(lock_);
    if (usable_) {
        const uint64_t tick = clock_.now_tick();
        if (writer_.is_bounded()) {
            const uint64_t reserved = writer_.reserved_bytes(request.device);
            refusals_.add({tick, request, refusal, pool, 0, reserved, 0}, live_set_);
        }
        writer_.put(request, tick);
        writer_.put(refusal, tick);
        put_pool(pool, tick);
        check_writer();
    }
}

void Recorder::record_mark(MarkKind kind, uint32_t thread, uint32_t string) {
    open_if_waiting();
    const LockGuard guard(lock_);
    if (!usable_) {
        return;
    }
    if (kind == MarkKind::kPhaseBegin) {
        phases_.begin_phase(string);
        update_phases();
    } else if (kind == MarkKind::kPhaseEnd) {
        phases_.end_phase(string);
        update_phases();
    } else if (kind == MarkKind::kStep && writer_.is_bounded() && is_tracing() &&
               steps_.ends_marked_step()) {
        end_step();
    }
    put(format::Mark{kind, thread, string});
}

void Recorder::record_scope(format::ScopeAction action,
                            uint32_t thread,
                            uint32_t string,
                            StepAction step) {
    const LockGuard guard(lock_);
    // A scope that began while tracing also ends when tracing is off.
    if (!usable_ || (!is_tracing() && action != format::ScopeAction::kEnd)) {
        return;
    }
    // Before the record: a checkpoint that follows it directly must include this step.
    if (step != StepAction::kNone && writer_.is_bounded() && is_tracing() &&
        steps_.ends_optimizer_step(step, next_ordinal_)) {
        end_step();
    }
    put(format::Scope{action, thread, string});
}

void Recorder::end_step() {
    const uint64_t peak_bytes = take_peak_bytes_locked(PeakReader::kStepHistory);
    steps_.end_step({clock_.now_tick(), next_ordinal_, live_bytes_, peak_bytes}, live_set_);
}

void Recorder::record_scope_caller(uint32_t context) {
    const LockGuard guard(lock_);
    if (usable_ && is_tracing() && context != 0) {
        put(format::ScopeCaller{context});
    }
}

}  // namespace peakline::record
