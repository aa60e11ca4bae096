#include "event_ids.h"

#include <algorithm>

namespace peakline::report {
namespace {

class IdCheck {
public:
    explicit IdCheck(const Definitions& definitions) : definitions_(definitions) {}

    EventIds result() const { return result_; }

    void operator()(format::Mark& of) {
        known(&of.thread, definitions_.threads, definitions_.lost_thread);
        text(&of.text);
    }
    void operator()(format::Scope& of) {
        known(&of.thread, definitions_.threads, definitions_.lost_thread);
        text(&of.name);
    }
    void operator()(format::Segment& of) {
        device(of.device);
        stream(&of.stream);
    }
    void operator()(format::OutOfMemory& of) {
        device(of.device);
        context(&of.context);
    }
    void operator()(format::Refusal& of) { stream(&of.stream); }
    void operator()(format::ValueRead& of) {
        context(&of.context);
        text(&of.operators);
    }
    void operator()(format::AllocatorCall& of) { device(of.device); }
    void operator()(format::AllocatorSettings& of) { text(&of.text); }
    void operator()(format::DeviceMemory& of) { device(of.device); }
    void operator()(format::DriverAlloc& of) {
        device(of.device);
        context(&of.context);
        stream(&of.stream);
    }
    void operator()(format::DriverSample& of) { device(of.device); }
    void operator()(format::PoolSample& of) { device(of.device); }
    void operator()(format::DeviceProcesses& of) { device(of.device); }
    void operator()(format::MadeFor& of) { text(&of.text); }
    void operator()(format::SharedMemory& of) { text(&of.name); }
    void operator()(format::ScopeCaller& of) { context(&of.context); }
    void operator()(format::SavedBlock& of) { context(&of.context); }
    // Records without ids.
    void operator()(format::Loss&) {}
    void operator()(format::Stopped&) {}
    void operator()(format::InPool&) {}
    void operator()(format::DriverFree&) {}

private:
    template <class T>
    void known(uint64_t* id, const ById<T>& table, uint32_t lost) {
        if (*id > table.count()) {
            *id = lost;
            mark(EventIds::kUnknown);
        }
    }
    void text(uint64_t* id) { known(id, definitions_.strings, definitions_.lost_string); }
    void stream(uint64_t* id) {
        if (definitions_.lost_stream != 0) {
            known(id, definitions_.streams, definitions_.lost_stream);
        }
    }
    void context(uint64_t* id) { known(id, definitions_.contexts, definitions_.lost_context); }
    void device(uint64_t number) {
        if (number >= kMaxDevices) {
            mark(EventIds::kImpossible);
        }
    }
    void mark(EventIds found) { result_ = found > result_ ? found : result_; }

    const Definitions& definitions_;
    EventIds result_ = EventIds::kKnown;
};

}  // namespace

EventIds check_ids(RareEvent* event, const Definitions& definitions) {
    IdCheck check(definitions);
    format::NumberRecords::visit(event->type, event->fields, [&](auto record) {
        check(record);
        const auto fields = format::fields_of(record);
        std::copy(fields.begin(), fields.end(), event->fields);
    });
    return check.result();
}

}  // namespace peakline::report
