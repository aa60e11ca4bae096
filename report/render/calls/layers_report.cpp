// `layers`: the memory of every module, and the peaks while it runs.
#include "calls_report.h"
#include "report/render/format/shown_count.h"

namespace peakline::report {

void put_layers(Document& document, const CallsReport& report) {
    const std::vector<LayerRow>& rows = report.layers;
    const uint64_t shown = shown_count(report.top, rows.size());
    document.fields().field("row_count", static_cast<uint64_t>(rows.size()));
    document.say_lines(
        rows.empty()
            ? "No modules in this trace: its stacks name none (record Python stacks)."
            : "Held = most memory this layer and its children had at once. Peak while = level of"
              " the device while it ran\n"
              "Unused = share of the reserved memory that no live block has, on average while it"
              " ran");
    DocumentTable table(document,
                        "layers",
                        {{"peak_held_bytes", "Held"},
                         {"held_bytes", "At the end"},
                         {"peak_allocated", "Peak while"},
                         {"peak_reserved", "Reserved"},
                         {"avg_fragmentation", "Unused"},
                         {"total_allocations", "Allocs"},
                         {"total_deallocations", "Frees"},
                         {"layer_name", "Layer", Align::kLeft},
                         hidden("duration_ms"),
                         hidden("allocated_bytes"),
                         hidden("backward_bytes"),
                         hidden("call_count")});
    for (size_t i = 0; i < shown; ++i) {
        const LayerUse& use = rows[i].use;
        const bool runs = use.peak_allocated_bytes != 0;
        table.add({bytes_cell(use.peak_held_bytes),
                   bytes_cell(use.held_bytes),
                   bytes_cell(use.peak_allocated_bytes).dash_unless(runs),
                   reserved_cell(report, use.peak_reserved_bytes).dash_unless(runs),
                   cell_or_dash(rows[i].fragmentation, share_cell),
                   count_cell(use.alloc_count),
                   count_cell(use.free_count),
                   cell(rows[i].name),
                   cell(report.reader.seconds(use.ticks) * 1e3),
                   cell(use.allocated_bytes),
                   cell(use.backward_bytes),
                   cell(use.call_count)});
    }
    table.leave_out(rows.size() - shown, "more layers");
}

}  // namespace peakline::report
