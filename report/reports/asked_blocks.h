// Finds the blocks of one moment for a report: replays, groups, filters.
#pragma once

#include "report/attribute/block_keys.h"
#include "report/render/facts/where_report.h"
#include "report/render/format/path_display.h"
#include "report/replay/replay.h"

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

}  // namespace peakline::report
