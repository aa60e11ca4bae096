#include "layers.h"

#include <algorithm>
#include <tuple>

namespace peakline::report {

std::vector<LayerRow> build_layers(const CallResult& result, const CallRules& rules) {
    std::vector<LayerRow> rows;
    for (size_t layer = 0; layer < result.layers.size(); ++layer) {
        LayerRow row = {rules.layers[layer], result.layers[layer], std::nullopt};
        if (result.knows_reserved && row.use.fragmentation_count != 0) {
            row.fragmentation =
                row.use.fragmentation_sum / static_cast<double>(row.use.fragmentation_count);
        }
        if (row.use.alloc_count != 0 || row.use.peak_held_bytes != 0) {
            rows.push_back(std::move(row));
        }
    }
    std::sort(rows.begin(), rows.end(), [](const LayerRow& a, const LayerRow& b) {
        return std::tie(b.use.peak_held_bytes, a.name) < std::tie(a.use.peak_held_bytes, b.name);
    });
    return rows;
}

}  // namespace peakline::report
