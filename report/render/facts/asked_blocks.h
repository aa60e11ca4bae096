// The blocks of one moment that a report is asked for: replay, follow, select.
#pragma once

#include "report/attribute/block_keys.h"
#include "report/render/format/path_display.h"
#include "report/replay/replay.h"
#include "where_report.h"

namespace peakline::report {

struct AskedBlocks {
    ReplayResult result;  // without the blocks that --where leaves out
    ShownPart part;
};

// `detail`: the least that is wanted; keys that look at lives need single blocks.
AskedBlocks replay_for_keys(const TraceReader& reader,
                            const Selection& selection,
                            Detail detail,
                            BlockKeys& keys,
                            const PathDisplay& paths,
                            const Progress& progress);

// Throws TraceError where `report` does not know --where.
void refuse_where(const Selection& selection, const char* report);
// Throws TraceError where memory of the host is asked for and `report` is about a GPU.
void refuse_host(const Selection& selection, const char* report);

}  // namespace peakline::report
