// Finds the blocks of one moment for a report: replays, groups, filters.
#pragma once

#include "report/attribute/block_keys.h"
#include "report/render/format/path_display.h"
#include "report/replay/replay.h"
#include "where_report.h"

namespace peakline::report {

struct AskedBlocks {
    ReplayResult result;  // without the blocks that --where excludes
    ShownPart part;
};

// `detail`: the least that the report needs. Keys that depend on lifetimes need single blocks.
AskedBlocks replay_for_keys(const TraceReader& reader,
                            const Selection& selection,
                            Detail detail,
                            BlockKeys& keys,
                            const PathDisplay& paths,
                            const Progress& progress);

// Throws TraceError for --where, for a report that does not take it.
void refuse_where(const Selection& selection, const char* report);
// Throws TraceError for memory of the host, for a report about a GPU.
void refuse_host(const Selection& selection, const char* report);

}  // namespace peakline::report
