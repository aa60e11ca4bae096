#include "oom_answer.h"

#include <algorithm>

#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

constexpr const char* kUnknownCategory = "unknown";  // of --by category
constexpr const char* kFraction = "per_process_memory_fraction";

std::string settings_of(const OomReport& report) {
    return std::string(report.reader.definitions().meta_text("allocator_settings"));
}

std::string asked_text(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    const std::string device = format_bytes(autopsy.device_bytes);
    std::string text = "Out of memory: " + format_bytes(autopsy.refused.asked_bytes) +
                       " asked for at " + oom_line(report, autopsy.line) + ", ";
    if (autopsy.is_over_limit && autopsy.segments.has_value()) {
        const double share = static_cast<double>(autopsy.refused.limit_bytes) /
                             static_cast<double>(autopsy.device_bytes);
        return text + format_bytes(autopsy.room_bytes()) + " left of the " +
               format_bytes(autopsy.refused.limit_bytes) + " limit of this process (" +
               format_share(share) + " of " + device + ")\n";
    }
    text += format_bytes(autopsy.refused.request.free_bytes) + " free";
    return text + (autopsy.device_bytes != 0 ? " of " + device : "") + "\n";
}

// Names the limit, even where something else decides.
std::string limit_text(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    if (!autopsy.is_over_limit) {
        return {};
    }
    const bool is_setting = settings_of(report).find(kFraction) != std::string::npos;
    const OutOfMemory& request = autopsy.refused.request;
    const bool has_enough = request.free_bytes >= request.requested_bytes;
    return "The limit refused it (" +
           (is_setting ? std::string(kFraction) + " of the allocator's settings"
                       : "torch.cuda.set_" + std::string(kFraction)) +
           (has_enough ? "), not the device, which has " : "); the device, too, has only ") +
           format_bytes(request.free_bytes) + " free.\n";
}

// The reason why the request fits nowhere, whatever torch could return. Empty: it may fit.
std::string cannot_fit_text(const Autopsy& autopsy) {
    const uint64_t asked = autopsy.refused.request.requested_bytes;
    const uint64_t limit = autopsy.refused.limit_bytes;
    const uint64_t outside = autopsy.outside_bytes().value_or(0);
    const std::optional<uint64_t> others = autopsy.other_process_bytes();
    const uint64_t own = others ? outside - *others : 0;
    std::string where;
    if (autopsy.device_bytes != 0 && asked + own > autopsy.device_bytes) {
        where = "on this device";
    } else if (limit != 0 && asked > limit) {
        where = "in that limit";
    } else if (autopsy.device_bytes != 0 && asked + outside > autopsy.device_bytes) {
        where = others ? "beside the " + format_bytes(*others) + " of other processes"
                       : "beside the " + format_bytes(outside) +
                             " outside torch (contexts, libraries, other processes)";
    }
    return where.empty() ? where
                         : "It does not fit " + where + ", even with nothing else live in torch.\n";
}

// nullptr: the category of most live memory is unknown.
const TableRow* largest_known_category(const Autopsy& autopsy) {
    const std::vector<TableRow>& rows = autopsy.categories.rows;
    return rows.empty() || rows.front().labels.front().name == kUnknownCategory ? nullptr
                                                                                : rows.data();
}

std::string needed_text(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    std::string text;
    if (const TableRow* const largest = largest_known_category(autopsy)) {
        text = format_share(largest->share) + " of what is live is " +
               oom_line(report, largest->labels.front()) + ". ";
    }
    if (autopsy.missing_bytes != 0) {
        text += format_bytes(autopsy.missing_bytes) + " more were needed";
        const auto& rows = autopsy.lines.rows;
        // Where free memory is unusable, a line matters only if it holds all of the missing bytes.
        const uint64_t least = is_of_no_use(autopsy) ? autopsy.missing_bytes : 1;
        if (!rows.empty() && rows.front().bytes >= static_cast<int64_t>(least)) {
            const TableRow& row = rows.front();
            text += "; " + oom_line(report, row.labels.front()) + " holds the most, " +
                    format_bytes(row.bytes);
        }
        text += ".";
    }
    return text.empty() ? text : text + "\n";
}

// Memory of others matters where torch itself could do nothing.
std::string outside_text(const Autopsy& autopsy) {
    if (autopsy.reason != RefusalReason::kFull || autopsy.missing_bytes == 0) {
        return {};
    }
    if (const std::optional<uint64_t> others = autopsy.other_process_bytes()) {
        return *others >= autopsy.missing_bytes ? "Other processes hold " + format_bytes(*others) +
                                                      " of this device: without them it would "
                                                      "fit.\n"
                                                : "";
    }
    const uint64_t outside = autopsy.outside_bytes().value_or(0);
    const auto& rows = autopsy.lines.rows;
    const auto most = static_cast<uint64_t>(rows.empty() ? 0 : rows.front().bytes);
    return outside >= std::max(autopsy.missing_bytes, most)
               ? format_bytes(outside) +
                     " are held outside torch: contexts, libraries, other processes.\n"
               : "";
}

std::string older_text(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    if (autopsy.missing_bytes == 0 || autopsy.older_bytes < autopsy.missing_bytes) {
        return {};
    }
    return format_bytes(autopsy.older_bytes) + " of activations are left from before request " +
           std::to_string(autopsy.number_before) +
           " was refused: an exception that the program keeps would hold them, by the frames in "
           "its traceback. " +
           (report.holders == nullptr ? "peakline run --hold end records what does.\n"
                                      : "What does stands below.\n");
}

// The line that keeps most free bytes from being used.
std::string pieces_text(const OomReport& report) {
    const FreePieces& pieces = *report.autopsy.free_pieces();
    if (pieces.pins.empty()) {
        return "\n";
    }
    const PinningRow& first = pieces.pins.front();
    return " " + counted(first.count, "block") + " of " + oom_line(report, first.label) + " (" +
           format_bytes(first.bytes) + ") lie" + (first.count == 1 ? "s" : "") + " beside " +
           format_bytes(first.free_bytes) + " of it.\n";
}

std::string setting_text(const OomReport& report) {
    const ServingSetting& serving = report.serving;
    if (!serving.text.empty()) {
        return "Replayed with PYTORCH_ALLOC_CONF=" + serving.text +
               ", this run is served the request.\n";
    }
    if (serving.is_known) {
        return "Replayed with each setting that peakline whatif --search tries, it is refused "
               "as well.\n";
    }
    const bool is_on = settings_of(report).find("expandable_segments:True") != std::string::npos;
    const RefusalReason reason = report.autopsy.reason;
    const bool may_help = reason == RefusalReason::kFragmented || reason == RefusalReason::kPinned;
    return may_help && !is_on ? "PYTORCH_ALLOC_CONF=expandable_segments:True may help.\n" : "";
}

std::string other_pool_text(const Autopsy& autopsy) {
    const FreePieces& pieces = autopsy.segments->of_other_pools;
    const bool is_enough = pieces.largest_bytes >= autopsy.refused.asked_bytes;
    const std::string kinds = " (a CUDA graph's, or a MemPool)";
    if (autopsy.segments->is_in_own_pool) {
        return "The request is one of a private pool" + kinds + ": it cannot use the " +
               format_bytes(pieces.bytes) + " that are free in other pools.";
    }
    return (is_enough ? "A free piece of " + format_bytes(pieces.largest_bytes) + " belongs"
                      : format_bytes(pieces.bytes) + " of free memory belong") +
           " to another pool" + kinds + ": torch gives it to requests of that pool only.";
}

std::string segments_text(const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    if (!autopsy.segments.has_value()) {
        return {};
    }
    const RefusedSegments& segments = *autopsy.segments;
    switch (autopsy.reason) {
        case RefusalReason::kFragmented:
            return "Torch has " + format_bytes(segments.usable.bytes) +
                   " free in its segments, in " + counted(segments.usable.count, "piece") +
                   " of at most " + format_bytes(segments.usable.largest_bytes) + "." +
                   pieces_text(report) + setting_text(report);
        case RefusalReason::kPinned:
            return "Torch has " + format_bytes(segments.pinned.bytes) +
                   " free in segments that it " +
                   (segments.is_in_own_pool ? "keeps for this pool"
                                            : "cannot return, since blocks lie in them") +
                   ": with it the request would fit." + pieces_text(report) + setting_text(report);
        case RefusalReason::kOtherStream:
            return "A free piece of " + format_bytes(segments.largest_of_other_streams_bytes) +
                   " belongs to another stream: torch gives it to that stream only.\n" +
                   setting_text(report);
        case RefusalReason::kOtherPool:
            return other_pool_text(autopsy) + pieces_text(report);
        case RefusalReason::kWaiting:
            return format_bytes(segments.waiting_bytes) +
                   " were freed, but other streams still use them (record_stream).\n";
        case RefusalReason::kPieces:
            return "Torch has " + format_bytes(segments.free_bytes + segments.waiting_bytes) +
                   " free in its segments, or waiting for other streams; where they lie is known "
                   "of requests in the kept events only.\n";
        case RefusalReason::kFraction:
        case RefusalReason::kFull:
            break;
    }
    return {};
}

}  // namespace

std::string oom_answer(const OomReport& report) {
    const std::string text = asked_text(report) + limit_text(report);
    const std::string cannot_fit = cannot_fit_text(report.autopsy);
    if (!cannot_fit.empty()) {
        return text + cannot_fit;
    }
    return text + needed_text(report) + outside_text(report.autopsy) + older_text(report) +
           segments_text(report);
}

std::string oom_line(const OomReport& report, const Label& line) {
    return printable(label_text(report.paths, line));
}

std::string counted(uint64_t count, const char* what) {
    return format_count(count) + " " + what + (count == 1 ? "" : "s");
}

bool is_of_no_use(const Autopsy& autopsy) {
    switch (autopsy.reason) {
        case RefusalReason::kFragmented:
        case RefusalReason::kOtherPool:
        case RefusalReason::kOtherStream:
        case RefusalReason::kPinned:
            return autopsy.free_pieces() != nullptr;
        default:
            return false;
    }
}

}  // namespace peakline::report
