#include "selection.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <span>

#include "report/attribute/grouping.h"
#include "report/replay/phases/find_ranges.h"
#include "report/replay/values/device_names.h"
#include "report/trace/definitions/definitions.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

constexpr const char* kPhasePrefix = "phase:";
constexpr size_t kMostRowKeys = 2;

// In the order of MomentKind, which continues with moments without a word of their own.
constexpr OptionWord kMoments[] = {
    {"peak", "the highest level"},
    {"end", "the end of the trace"},
    {"oom", "when memory ran out last; oom@2: the second time"},
};

// In the order of Measure, then of DriverMeasure.
constexpr OptionWord kMeasures[] = {
    {"allocated", "bytes of blocks"},
    {"requested", "bytes requested by the program"},
    {"reserved", "torch's segments, by the line that made each"},
    {"device", "all memory requested from the driver"},
};
constexpr size_t kBlockMeasures = 2;

// The index of the word in the enum that `words` follows; the number of words if it is none of
// them.
size_t index_of(const std::string& text, std::span<const OptionWord> words) {
    const auto is_it = [&text](const OptionWord& word) { return text == word.name; };
    return static_cast<size_t>(std::find_if(words.begin(), words.end(), is_it) - words.begin());
}

[[noreturn]] void refuse(const char* option, const std::string& value, const std::string& takes) {
    throw TraceError(std::string(option) + " '" + value + "': takes " + takes);
}

template <class Enum>
Enum parse_word(const char* option, const std::string& text, std::span<const OptionWord> words) {
    const size_t index = index_of(text, words);
    if (index == words.size()) {
        std::string takes;
        for (const OptionWord& word : words) {
            const bool is_last = &word == &words.back();
            takes += std::string(takes.empty() ? "" : is_last ? " or " : ", ") + word.name;
        }
        refuse(option, text, takes);
    }
    return static_cast<Enum>(index);
}

void parse_measure(const std::string& text, KnownMeasures measures, Selection* selection) {
    const size_t index = index_of(text, kMeasures);
    if (index < kBlockMeasures || index == std::size(kMeasures)) {
        const std::span<const OptionWord> words(kMeasures);
        selection->request.measure = parse_word<format::Measure>(
            "--measure",
            text,
            measures == KnownMeasures::kAll ? words : words.first(kBlockMeasures));
        return;
    }
    if (measures != KnownMeasures::kAll) {
        refuse("--measure",
               text,
               "allocated or requested; table, timeline and ledger also know reserved and"
               " device");
    }
    selection->driver_measure = static_cast<DriverMeasure>(index - kBlockMeasures);
}

// Parses "oom@2": the second request that a device refused.
bool parse_request(const std::string& text, uint64_t* number) {
    constexpr std::string_view kPrefix = "oom@";
    const char* const end = text.data() + text.size();
    return text.rfind(kPrefix, 0) == 0 &&
           std::from_chars(text.data() + kPrefix.size(), end, *number).ptr == end && *number != 0;
}

Moment parse_moment(const std::string& text) {
    Moment moment;
    if (const size_t index = index_of(text, kMoments); index < std::size(kMoments)) {
        moment.kind = static_cast<MomentKind>(index);
        return moment;
    }
    if (!parse_time_range(text) && parse_seconds(text, &moment.seconds)) {
        moment.kind = MomentKind::kTime;
        return moment;
    }
    if (parse_request(text, &moment.request_number)) {
        moment.kind = MomentKind::kOutOfMemory;
        return moment;
    }
    moment.kind = MomentKind::kPhase;
    moment.phase = text;
    if (text.rfind(kPhasePrefix, 0) == 0) {
        moment.phase = text.substr(std::char_traits<char>::length(kPhasePrefix));
    }
    if (moment.phase.empty()) {
        refuse("--at", text, "peak, end, oom, a time in seconds, or the name of a phase");
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
    if (const std::optional<uint32_t> device = host_device(text)) {
        choice.number = *device;
        return choice;
    }
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, choice.number);
    if (parsed.ec != std::errc() || parsed.ptr != end || choice.number >= kMaxDevices ||
        format::is_of_host(choice.number)) {
        refuse("--device", text, "the number of a GPU, all (GPUs), pinned or cpu");
    }
    return choice;
}

// Parses "module, lifetime" without the blanks; ignores repeated keys.
std::vector<std::string> parse_row_keys(const std::string& text) {
    std::vector<std::string> keys;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t comma = std::min(text.find(',', begin), text.size());
        const size_t first = text.find_first_not_of(' ', begin);
        const size_t last = comma == 0 ? 0 : text.find_last_not_of(' ', comma - 1);
        keys.push_back(first < comma ? text.substr(first, last + 1 - first) : std::string());
        begin = comma + 1;
    }
    const bool has_empty = std::count(keys.begin(), keys.end(), std::string()) != 0;
    if (keys.size() > kMostRowKeys || (has_empty && keys.size() > 1)) {
        refuse("--by", text, "one key, or two with a comma between them: module,lifetime");
    }
    if (keys.size() == kMostRowKeys && keys.front() == keys.back()) {
        refuse("--by", text, "two different keys, or one");
    }
    return keys;
}

std::vector<WhereKey> parse_where(const std::vector<std::string>& texts) {
    std::vector<WhereKey> where;
    for (const std::string& text : texts) {
        const size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
            refuse("--where", text, "KEY=VALUE, such as category=activation or module='h.*.mlp'");
        }
        const std::string key = text.substr(0, equals);
        find_grouping(key, KeyUse::kWhere);
        const auto known = std::find_if(
            where.begin(), where.end(), [&key](const WhereKey& one) { return one.key == key; });
        WhereKey& one = known != where.end() ? *known : where.emplace_back(WhereKey{key, {}});
        one.values.push_back(text.substr(equals + 1));
    }
    return where;
}

}  // namespace

bool makes_rows(const Selection& selection, std::string_view key) {
    const auto& keys = selection.row_keys;
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::vector<OptionWord> words_of_option(std::string_view option) {
    std::vector<OptionWord> words;
    if (option == "by") {
        for (const Grouping& grouping : groupings()) {
            words.push_back({grouping.name, grouping.help});
        }
        return words;
    }
    const auto listed = option == "frame" ? frame_words()
                        : option == "at"  ? std::span<const OptionWord>(kMoments)
                        : option == "measure"
                            ? std::span<const OptionWord>(kMeasures).first(kBlockMeasures)
                        : option == "every-measure" ? std::span<const OptionWord>(kMeasures)
                                                    : std::span<const OptionWord>();
    words.assign(listed.begin(), listed.end());
    return words;
}

const char* measure_name(format::Measure measure) {
    return kMeasures[static_cast<size_t>(measure)].name;
}

const char* measure_name(const Selection& selection) {
    return selection.driver_measure
               ? kMeasures[kBlockMeasures + static_cast<size_t>(*selection.driver_measure)].name
               : measure_name(selection.request.measure);
}

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

Selection parse_selection(const SelectionText& text, KnownMeasures measures) {
    Selection selection;
    selection.by = text.by;
    selection.row_keys = parse_row_keys(text.by);
    selection.where = parse_where(text.where);
    selection.frames.choice = parse_word<FrameChoice>("--frame", text.frame, frame_words());
    if (text.native && !makes_rows(selection, "stack")) {
        throw TraceError("--native shows native frames of whole stacks, and needs --by stack");
    }
    selection.frames.shows_native = text.native;
    selection.frames.hidden_globs = text.hide;
    selection.frames.symbol_folders = text.symbols;
    selection.frames.modules.depth =
        static_cast<uint32_t>(std::min<uint64_t>(text.depth, UINT32_MAX));
    selection.frames.modules.repeated = text.fold;
    if (!text.during.empty() && text.at != kMoments[0].name) {
        throw TraceError("--at is a moment and --during a part of the run: give one of them");
    }
    selection.during = text.during;
    selection.request.moment = parse_moment(text.during.empty() ? text.at : text.during);
    selection.request.device = parse_device(text.device);
    parse_measure(text.measure, measures, &selection);
    return selection;
}

Selection parse_selection(const SelectionText& text,
                          const TraceReader& reader,
                          KnownMeasures measures) {
    Selection selection = parse_selection(text, measures);
    if (selection.request.device.kind == DeviceChoiceKind::kAll && !selection.driver_measure &&
        !reader.has_gpu_memory()) {
        selection.request.device = DeviceChoice();
    }
    return selection;
}

}  // namespace peakline::report
