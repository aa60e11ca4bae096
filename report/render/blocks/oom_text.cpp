// `oom`: the first line is the answer, the rest is what it is made of.
#include <algorithm>

#include "oom_report.h"
#include "report/render/blocks/holders_report.h"
#include "report/render/blocks/oom_answer.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "report/render/format/text_columns.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

constexpr size_t kOtherLines = 3;

double share_of(uint64_t bytes, uint64_t total) {
    return total == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(total);
}

std::string place_text(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    const RefusedRequest& refused = autopsy.refused;
    std::string text = "Request " + std::to_string(autopsy.number) + " of " +
                       format_count(report.refused.count) + " that were refused, " +
                       (autopsy.is_caught ? "caught by the program" : "which ended the program") +
                       "; t=" + format_seconds(report.reader.seconds(refused.request.tick));
    text += autopsy.step ? ", step " + std::to_string(*autopsy.step) : "";
    const bool has_phase = !autopsy.phase.empty() && autopsy.phase != phase_name(Phase::kNone) &&
                           autopsy.phase != phase_name(Phase::kOther);
    text += has_phase ? ", " + printable(autopsy.phase) : "";
    text += autopsy.module.empty() ? "" : ", " + printable(autopsy.module);
    const std::string settings(report.reader.definitions().meta_text("allocator_settings"));
    text += settings.empty() ? "" : "\nAllocator settings: " + printable(settings);
    return text + "\n";
}

std::string device_text(const OomReport& report) {
    using enum Align;
    const Autopsy& autopsy = report.autopsy;
    TextColumns columns({kRight, kRight, kLeft},
                        {"Mem", "%", "Device " + std::to_string(autopsy.refused.request.device)});
    const auto add = [&](uint64_t bytes, const std::string& what) {
        const double share = share_of(bytes, autopsy.device_bytes);
        columns.add({format_bytes(bytes),
                     autopsy.device_bytes == 0 ? std::string() : format_percent(share),
                     what});
    };
    add(autopsy.refused.live_bytes, "live in torch");
    if (autopsy.segments.has_value()) {
        const RefusedSegments& segments = *autopsy.segments;
        if (segments.waiting_bytes != 0) {
            add(segments.waiting_bytes, "freed, in use by another stream");
        }
        add(segments.free_bytes,
            "free in torch's segments" + (segments.knows_pieces
                                              ? "; largest piece for this request " +
                                                    format_bytes(segments.usable.largest_bytes)
                                              : std::string()));
    }
    if (const std::optional<uint64_t> outside = autopsy.outside_bytes()) {
        const std::optional<uint64_t> others = autopsy.other_process_bytes();
        add(*outside - others.value_or(0),
            std::string("outside torch: contexts, libraries") +
                (others ? "" : ", other processes"));
        if (others.value_or(0) != 0) {
            add(*others, "other processes");
        }
    }
    add(autopsy.refused.request.free_bytes, "free");
    if (autopsy.is_over_limit) {
        add(autopsy.refused.limit_bytes, "all that torch may use here: the limit of this process");
    }
    return columns.text();
}

std::string rows_text(const OomReport& report, const Table& table, const char* head) {
    using enum Align;
    TextColumns columns({kRight, kRight, kRight, kLeft}, {"Mem", "%", "Count", head});
    const uint64_t shown = shown_count(report.top, table.rows.size());
    for (size_t i = 0; i < shown; ++i) {
        const TableRow& row = table.rows[i];
        columns.add({format_bytes(row.bytes),
                     format_percent(row.share),
                     format_count(row.count),
                     oom_line(report, row.labels.front())});
    }
    std::string text = columns.text({}, report.paths.width);
    if (shown < table.rows.size()) {
        text += "and " + counted(table.rows.size() - shown, "more row") + "\n";
    }
    return text;
}

std::string pins_text(const OomReport& report) {
    using enum Align;
    const FreePieces* const pieces = report.autopsy.free_pieces();
    if (!is_of_no_use(report.autopsy) || pieces->pins.empty()) {
        return {};
    }
    TextColumns columns({kRight, kRight, kRight, kLeft},
                        {"Free beside", "Mem", "Count", "Blocks that keep free pieces apart"});
    for (const PinningRow& row : pieces->pins) {
        columns.add({format_bytes(row.free_bytes),
                     format_bytes(row.bytes),
                     format_count(row.count),
                     oom_line(report, row.label)});
    }
    return "\n" + columns.text({}, report.paths.width);
}

std::string others_text(const OomReport& report) {
    std::string text;
    const size_t shown = std::min(kOtherLines, report.others.size());
    for (size_t i = 0; i < shown; ++i) {
        const RefusedLine& one = report.others[i];
        text += "Also refused: " + counted(one.count, "request") + " at " +
                oom_line(report, one.line) + " (--nth " + std::to_string(one.last_number) + ")\n";
    }
    if (shown < report.others.size()) {
        text += "and at " + counted(report.others.size() - shown, "more line") + "\n";
    }
    return text.empty() ? text : "\n" + text;
}

std::string holders_part(const OomReport& report) {
    if (report.holders == nullptr) {
        return report.reader.definitions().holder_searches.empty()
                   ? ""
                   : "\nNo search for holders saw a block that was live then (peakline holders).\n";
    }
    const RefusedHolders& found = *report.holders;
    const HoldersReport holders = {report.reader, found.list, report.top, report.paths};
    std::string text = "\nWhat keeps the largest blocks alive\n" + holder_search_text(holders);
    if (found.gone_bytes != 0) {
        text += "It did not look at " + format_bytes(found.gone_bytes) +
                " of the largest blocks then.\n";
    }
    return text + holder_rows_text(holders, {});
}

}  // namespace

std::string oom_text(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    std::string text = oom_answer(report) + "\n" + head_text(report.reader) + place_text(report) +
                       "\n" + device_text(report);
    if (!autopsy.lines.rows.empty()) {
        text += "\n" + rows_text(report, autopsy.categories, "What was live, by category");
        text += "\n" + rows_text(report, autopsy.lines, "By line");
    }
    return text + pins_text(report) + holders_part(report) + others_text(report);
}

}  // namespace peakline::report
