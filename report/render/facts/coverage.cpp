#include "coverage.h"

#include "report/render/format/format_bytes.h"
#include "report/render/format/path_display.h"
#include "report/render/format/printable.h"

namespace peakline::report {

std::string coverage_text(const TraceReader& reader) {
    const Checkpoint* checkpoint = reader.checkpoint();
    if (checkpoint == nullptr) {
        return {};
    }
    const std::string keep(reader.definitions().meta_text("keep"));
    const std::string from = format_seconds(reader.seconds(checkpoint->tick));
    std::string text = keep == "peak"
                           ? "Kept (--keep peak): the peaks of the whole run, by device and phase;"
                             " single events from t=" +
                                 from
                           : "Kept (--keep " + printable(keep) + "): events from t=" + from;
    if (checkpoint->first_event != 0) {
        text += ", " + format_count(checkpoint->first_event) + " older ones were dropped as asked";
    }
    text += keep == "peak" ? "\n" : "; the peak is that of the whole run\n";
    if (reader.knows_standing()) {
        text += "Peaks of --measure reserved and device are those of the kept events\n";
    }
    text += "Tensor names are not kept; categories and modules are inferred from stacks\n";
    if (checkpoint->dropped_phase_count != 0) {
        text += "There were more phases than are kept: some have no peak here\n";
    }
    return text;
}

void put_coverage(JsonWriter& json, const TraceReader& reader) {
    const Checkpoint* checkpoint = reader.checkpoint();
    json.key("kept");
    if (checkpoint == nullptr) {
        json.null();
        return;
    }
    json.begin_object().field("keep", reader.definitions().meta_text("keep"));
    json.field("from_seconds", reader.seconds(checkpoint->tick));
    json.field("events_dropped", checkpoint->first_event);
    json.field("phases_without_room", checkpoint->dropped_phase_count).end_object();
}

}  // namespace peakline::report
