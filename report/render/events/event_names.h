// The names that the columns of events refer to, as JSON: those new since the previous batch.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/events/events.h"

namespace peakline::report {

class EventNames {
public:
    // Both must outlive this.
    EventNames(const TraceReader& reader, const PathDisplay& paths)
        : reader_(reader), paths_(paths) {}

    // An object of lists, each with the entries after those already returned. Schema: EventNames of
    // pyhook/peakline/recording/events.py, which appends them.
    std::string take_new(const PageNames& names, const EventColumns& batch);

private:
    struct Given {
        size_t lines = 0, frames = 0, nodes = 0, contexts = 0;
        std::array<size_t, kMostPageKeys> names = {};
    };

    const TraceReader& reader_;
    const PathDisplay& paths_;
    Given given_;
    std::set<uint32_t> texts_;  // string ids already returned
    bool is_first_ = true;
};

}  // namespace peakline::report
