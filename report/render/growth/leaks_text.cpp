// `leaks` for people.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "leaks_report.h"
#include "report/render/advice/advise_report.h"
#include "report/render/facts/coverage.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/shown_count.h"
#include "report/render/format/text_columns.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

struct UnitWords {
    const char* many;
    const char* one;     // "per step"
    const char* column;  // of its number
};

UnitWords words_of(GrowthUnit unit) {
    switch (unit) {
        case GrowthUnit::kStep:
            return {"steps", "step", "From step"};
        case GrowthUnit::kGeneration:
            return {"calls of generate()", "call", "From call"};
        case GrowthUnit::kPass:
            return {"forward passes", "pass", "From pass"};
        case GrowthUnit::kTime:
            break;
    }
    return {"parts of the run", "second", "From"};
}

// A rate: samples are steps, several steps, or parts of the run.
double per_unit(const LeaksReport& report, const GrowthFit& fit, double per_sample) {
    const GrowthMoments& moments = report.growth.moments;
    return moments.unit == GrowthUnit::kTime
               ? per_sample /
                     (report.reader.seconds(1) * report.growth.ticks_per_sample(fit.sample))
               : per_sample / static_cast<double>(moments.units_per_sample);
}

std::string moment_of(const LeaksReport& report, size_t sample) {
    return report.growth.moments.unit == GrowthUnit::kTime
               ? format_seconds(report.reader.seconds(report.growth.ticks[sample]))
               : std::to_string(report.growth.moments.first_units[sample]);
}

// "Line", "Raw op", "Module, lifetime".
std::string head_of_rows(const LeaksReport& report) {
    std::string text;
    for (const std::string& key : report.selection.row_keys) {
        text += (text.empty() ? "" : ", ") + key;
    }
    std::replace(text.begin(), text.end(), '-', ' ');
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text;
}

std::string blocks_text(const LeaksReport& report, const GrowthFit& fit) {
    if (fit.is_replaced) {
        return "as many, larger";
    }
    const double blocks = per_unit(report, fit, fit.blocks_per_sample);
    const double every = 1 / blocks;
    const std::string unit = words_of(report.growth.moments.unit).one;
    if (blocks < 1 && std::round(every) > 1) {
        return "1 every " + std::to_string(std::llround(every)) + " " + unit + "s";
    }
    return std::to_string(std::llround(blocks)) + " per " + unit;
}

std::string left_out_text(uint64_t shown, uint64_t count) {
    return shown < count ? "  ... " + std::to_string(count - shown) + " more rows (--top 0)\n" : "";
}

std::string growing_text(const LeaksReport& report, const std::vector<GrowthRow>& rows) {
    using enum Align;
    const UnitWords words = words_of(report.growth.moments.unit);
    TextColumns columns(
        {kRight, kRight, kRight, kLeft, kLeft},
        {std::string("Per ") + words.one, "Gained", words.column, "Blocks", head_of_rows(report)});
    const uint64_t shown = shown_count(report.top, rows.size());
    for (size_t i = 0; i < shown; ++i) {
        const GrowthRow& row = rows[i];
        columns.add({format_bytes(std::lround(per_unit(report, row.fit, row.fit.bytes_per_sample))),
                     format_bytes(row.fit.gained_bytes),
                     moment_of(report, row.fit.sample),
                     blocks_text(report, row.fit),
                     label_text(report.paths, row.labels)});
        for (const GrowthHolder& holder : row.holders) {
            columns.add({"", "", "", "", "held: " + holder.path});
        }
    }
    return columns.text("  ", report.paths.width) + left_out_text(shown, rows.size());
}

std::string levelled_text(const LeaksReport& report) {
    using enum Align;
    const std::vector<GrowthRow>& rows = report.growth.levelled;
    TextColumns columns(
        {kRight, kRight, kLeft},
        {"Level", words_of(report.growth.moments.unit).column, head_of_rows(report)});
    const uint64_t shown = shown_count(report.top, rows.size());
    for (size_t i = 0; i < shown; ++i) {
        columns.add({format_bytes(rows[i].fit.level_bytes),
                     moment_of(report, rows[i].fit.sample),
                     label_text(report.paths, rows[i].labels)});
    }
    return "Levelled off (caches that are full, state made in the first steps):\n" +
           columns.text("  ", report.paths.width) + left_out_text(shown, rows.size());
}

std::string returning_text(const LeaksReport& report) {
    using enum Align;
    const std::vector<GrowthRow>& rows = report.growth.returning;
    TextColumns columns({kRight, kRight, kLeft}, {"Up to", "Times", head_of_rows(report)});
    const uint64_t shown = shown_count(report.top, rows.size());
    for (size_t i = 0; i < shown; ++i) {
        columns.add({format_bytes(rows[i].fit.level_bytes),
                     std::to_string(rows[i].fit.fall_count),
                     label_text(report.paths, rows[i].labels)});
    }
    return "Rises and is freed at once (by the garbage collector, or a list that is emptied):\n" +
           columns.text("  ", report.paths.width) + left_out_text(shown, rows.size());
}

std::string steps_text(const LeftRow& row) {
    const std::string first = std::to_string(row.first_step);
    return row.first_step == row.last_step ? first : first + " to " + std::to_string(row.last_step);
}

std::string left_text(const LeaksReport& report) {
    using enum Align;
    TextColumns columns({kRight, kRight, kLeft, kLeft, kLeft},
                        {"Mem", "Blocks", "Made in steps", "Category", head_of_rows(report)});
    const uint64_t shown = shown_count(report.top, report.left.size());
    for (size_t i = 0; i < shown; ++i) {
        const LeftRow& row = report.left[i];
        columns.add({format_bytes(row.bytes),
                     format_count(row.count),
                     steps_text(row),
                     row.category,
                     label_text(report.paths, row.labels)});
    }
    return "Still live at the end, made in a step, no part of the model or its training:\n" +
           columns.text("  ", report.paths.width) + left_out_text(shown, report.left.size());
}

std::string following_text(const LeaksReport& report) {
    using enum Align;
    const std::vector<GrowthRow>& rows = report.growth.following;
    TextColumns columns({kRight, kLeft, kLeft}, {"Gained", "Because", head_of_rows(report)});
    const uint64_t shown = shown_count(report.top, rows.size());
    for (size_t i = 0; i < shown; ++i) {
        const FollowedInputs& inputs = *rows[i].inputs;
        columns.add({format_bytes(rows[i].fit.gained_bytes),
                     inputs_sentence(inputs),
                     label_text(report.paths, rows[i].labels)});
    }
    return "Grows because the inputs of the steps grow:\n" +
           columns.text("  ", report.paths.width) + left_out_text(shown, rows.size());
}

// "stream 0x55d0", "24 streams", "3 private pools".
std::string where_text(const LeaksReport& report, const ReservedRow& row) {
    if (!row.pools.empty()) {
        return row.pools.size() == 1 ? "1 private pool"
                                     : format_count(row.pools.size()) + " private pools";
    }
    if (row.streams.size() != 1) {
        return format_count(row.streams.size()) + " streams";
    }
    return stream_text(report.reader.definitions(), *row.streams.begin());
}

std::string reserved_text(const LeaksReport& report, const ReservedGrowth& growth) {
    using enum Align;
    TextColumns columns({kRight, kRight, kLeft, kLeft}, {"Gained", "Segments", "In", "Line"});
    const uint64_t shown = shown_count(report.top, growth.rows.size());
    for (size_t i = 0; i < shown; ++i) {
        const ReservedRow& row = growth.rows[i];
        columns.add({format_bytes(row.bytes),
                     format_count(row.segment_count),
                     where_text(report, row),
                     label_text(report.paths, {row.line})});
    }
    std::string cause = cause_sentence(growth);
    cause[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(cause[0])));
    return "Reserved memory grows from " + format_bytes(growth.begin_bytes) + " to " +
           format_bytes(growth.end_bytes) + "; allocated is never above " +
           format_bytes(growth.allocated_bytes) + ":\n" + columns.text("  ", report.paths.width) +
           left_out_text(shown, growth.rows.size()) + cause + "\n";
}

std::string verdict_text(const LeaksReport& report, size_t fast_count) {
    const Growth& growth = report.growth;
    const UnitWords words = words_of(growth.moments.unit);
    const std::string count = format_count(growth.unit_count());
    const std::string seen = "Looked at " + count + " " + words.many + ": ";
    if (growth.is_too_short()) {
        return seen + "too few to say what grows; " + std::to_string(kLeastWindows) +
               " are needed\n";
    }
    return seen +
           (fast_count == 0   ? "nothing grows"
            : fast_count == 1 ? "1 row grows"
                              : std::to_string(fast_count) + " rows grow") +
           "\n";
}

bool is_of_kept_events_only(const LeaksReport& report) {
    const Checkpoint* const checkpoint = report.reader.checkpoint();
    return checkpoint != nullptr && checkpoint->first_event != 0 &&
           report.growth.moments.earlier_count == 0;
}

}  // namespace

std::string leaks_text(const LeaksReport& report) {
    std::vector<GrowthRow> fast;
    std::vector<GrowthRow> slow;
    for (const GrowthRow& row : report.growth.growing) {
        (row.is_slow ? slow : fast).push_back(row);
    }
    std::string text = head_text(report.reader) + verdict_text(report, fast.size());
    if (!fast.empty()) {
        text += growing_text(report, fast);
    }
    if (!slow.empty()) {
        text +=
            "Grows, but a million steps would not double the peak:\n" + growing_text(report, slow);
    }
    if (report.reserved) {
        text += reserved_text(report, *report.reserved);
    }
    if (!report.growth.following.empty()) {
        text += following_text(report);
    }
    if (!report.growth.levelled.empty()) {
        text += levelled_text(report);
    }
    if (!report.growth.returning.empty()) {
        text += returning_text(report);
    }
    if (!report.left.empty()) {
        text += left_text(report);
    }
    if (!report.findings.empty()) {
        text += "At the peak, as `peakline advise` says it:\n" +
                pieces_of_advice_text(report.paths, report.findings);
    }
    if (!fast.empty() && report.reader.definitions().holder_searches.empty()) {
        text += "What keeps these blocks alive is found by a run with --hold end, or --hold STEP\n";
    }
    if (is_of_kept_events_only(report)) {
        text +=
            "Only the kept events were looked at: what steps before them held is known by line, "
            "function, file and stack\n";
    }
    return text + coverage_text(report.reader) + health_text(report.result.health);
}

}  // namespace peakline::report
