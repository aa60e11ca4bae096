#include "refusals.h"

#include <string>

#include "report/replay/values/device_names.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {

void refuse_where(const Selection& selection, const char* report) {
    if (!selection.where.empty()) {
        throw TraceError(std::string(report) +
                         " does not take --where; table, summary, tensors, timeline and stats do");
    }
}

void refuse_host(const Selection& selection, const char* report) {
    if (format::is_of_host(selection.request.device.number)) {
        const std::string word = device_word(selection.request.device.number);
        throw TraceError(std::string(report) + " is about a GPU, and --device " + word +
                         " is memory of the host; table, timeline, tensors, phases, layers and "
                         "html show that");
    }
}

void need_events(const TraceReader& reader, const char* report) {
    if (!reader.has_events() && !reader.summary().views.empty()) {
        throw TraceError(reader.name() + ": holds a summary only, " + report +
                         " counts events; use peakline summary");
    }
}

void need_time(const TraceReader& reader, const char* report) {
    constexpr const char* kOneMoment = "one_moment";  // peakline/imports/writing.py writes it
    need_events(reader, report);
    if (!reader.definitions().meta_text(kOneMoment).empty()) {
        throw TraceError(reader.name() +
                         " is the state of one moment (its snapshot has no actions); " + report +
                         " needs time: record with peakline run");
    }
}

}  // namespace peakline::report
