// `tensors`: every block that is live at a moment. JSON schema: JSON.md.
#pragma once

#include <cstdint>

#include "report/render/document/document.h"
#include "report/render/facts/where_report.h"
#include "report/render/format/path_display.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"
#include "report/views/blocks/holders.h"
#include "report/views/blocks/tensors.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct TensorsReport {
    const TraceReader& reader;
    const Selection& selection;
    const ReplayResult& result;
    const TensorList& list;
    uint64_t top = 0;  // rows shown; 0: all
    PathDisplay paths;
    ShownPart part;
    const HolderIndex& holders;

    // The holder of a row's block; nullptr: no search found one. A bounded trace counts allocations
    // anew, so searches do not match its ordinals.
    const BlockHolder* holder_of(const TensorRow& row) const {
        return reader.is_bounded() ? nullptr : holders.find(row.block.ordinal);
    }
};

void put_tensors(Document& document, const TensorsReport& report);

}  // namespace peakline::report
