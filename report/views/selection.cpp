#include "selection.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "report/trace/definitions.h"
#include "report/trace/trace_error.h"

namespace peakline::report {
namespace {

constexpr const char* kPhasePrefix = "phase:";

[[noreturn]] void refuse(const char* option, const std::string& value, const char* takes) {
    throw TraceError(std::string(option) + " '" + value + "': takes " + takes);
}

Moment parse_moment(const std::string& text) {
    Moment moment;
    if (text == "peak") {
        return moment;
    }
    if (text == "end") {
        moment.kind = MomentKind::kEnd;
        return moment;
    }
    if (parse_seconds(text, &moment.seconds)) {
        moment.kind = MomentKind::kTime;
        return moment;
    }
    moment.kind = MomentKind::kPhase;
    moment.phase = text;
    if (text.rfind(kPhasePrefix, 0) == 0) {
        moment.phase = text.substr(std::char_traits<char>::length(kPhasePrefix));
    }
    if (moment.phase.empty()) {
        refuse("--at", text, "peak, end, a time in seconds, or the name of a phase");
    }
    return moment;
}

DeviceChoice parse_device(const std::string& text) {
    DeviceChoice choice;
    if (text.empty()) {
        return choice;
    }
    if (text == "all") {
        choice.kind = DeviceChoiceKind::kAll;
        return choice;
    }
    choice.kind = DeviceChoiceKind::kNumber;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, choice.number);
    if (parsed.ec != std::errc() || parsed.ptr != end || choice.number >= kMaxDevices) {
        refuse("--device", text, "a device number, or all");
    }
    return choice;
}

format::Measure parse_measure(const std::string& text) {
    if (text == "allocated") {
        return format::Measure::kAllocated;
    }
    if (text == "requested") {
        return format::Measure::kRequested;
    }
    refuse("--measure", text, "allocated or requested");
}

FrameChoice parse_frame(const std::string& text) {
    for (const auto choice : {FrameChoice::kCaller, FrameChoice::kLeaf, FrameChoice::kUser}) {
        if (text == frame_choice_name(choice)) {
            return choice;
        }
    }
    refuse("--frame", text, "caller, leaf or user");
}

}  // namespace

bool parse_seconds(const std::string& text, double* seconds) {
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0) {
        return false;
    }
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, *seconds, std::chars_format::fixed);
    const bool whole = parsed.ptr == end || (parsed.ptr + 1 == end && *parsed.ptr == 's');
    // More would not fit in 64 bits of nanoseconds.
    return parsed.ec == std::errc() && whole && *seconds < 1e9;
}

Selection parse_selection(const SelectionText& text) {
    Selection selection;
    selection.by = text.by;
    selection.frames.choice = parse_frame(text.frame);
    if (text.native && text.by != "stack") {
        throw TraceError("--native shows native frames of whole stacks, and needs --by stack");
    }
    selection.frames.shows_native = text.native;
    selection.frames.hidden_globs = text.hide;
    selection.frames.symbol_folders = text.symbols;
    selection.frames.modules.depth =
        static_cast<uint32_t>(std::min<uint64_t>(text.depth, UINT32_MAX));
    selection.frames.modules.repeated = text.fold;
    selection.request.moment = parse_moment(text.at);
    selection.request.device = parse_device(text.device);
    selection.request.measure = parse_measure(text.measure);
    return selection;
}

}  // namespace peakline::report
