#include "allocator_settings.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <string_view>
#include <vector>

#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;
// A request of at least this size gets a segment of its own size.
constexpr uint64_t kLeastOwnSegmentBytes = 10 * kMebibyte;
constexpr uint64_t kSegmentRounding = 2 * kMebibyte;

uint64_t round_to(uint64_t bytes, uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

uint32_t log2_of(uint64_t number) {
    return static_cast<uint32_t>(std::bit_width(number)) - 1;
}

size_t interval_of(uint64_t bytes) {
    const uint32_t log = log2_of(bytes);
    return std::min<size_t>(log < 20 ? 0 : log - 20, AllocatorSettings::kIntervals - 1);
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
    throw TraceError("allocator settings '" + text + "': " + why);
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    while (!text.empty() && text.back() == ' ') {
        text.remove_suffix(1);
    }
    return text;
}

// Splits at commas outside brackets.
std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
        if (i == text.size() || (text[i] == ',' && depth == 0)) {
            parts.push_back(trimmed(text.substr(begin, i - begin)));
            begin = i + 1;
        } else {
            depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
        }
    }
    return parts;
}

// Reads one KEY:VALUE after the other into settings.
class SettingsParser {
public:
    explicit SettingsParser(const std::string& text) : text_(text) { settings_.text = text; }

    AllocatorSettings parse() {
        for (const std::string_view part : split(text_)) {
            if (part.empty()) {
                continue;
            }
            const size_t colon = part.find(':');
            if (colon == std::string_view::npos) {
                refuse(text_, "'" + std::string(part) + "' is not KEY:VALUE");
            }
            key_ = std::string(trimmed(part.substr(0, colon)));
            value_ = std::string(trimmed(part.substr(colon + 1)));
            set();
        }
        check();
        return settings_;
    }

private:
    void set() {
        using Set = void (SettingsParser::*)();
        static const std::map<std::string, Set> known_keys = {
            {"expandable_segments", &SettingsParser::set_expandable},
            {"max_split_size_mb", &SettingsParser::set_max_split},
            {"max_non_split_rounding_mb", &SettingsParser::set_non_split_rounding},
            {"large_segment_size_mb", &SettingsParser::set_large_segment},
            {"roundup_power2_divisions", &SettingsParser::set_divisions},
            {"garbage_collection_threshold", &SettingsParser::set_threshold},
            {"per_process_memory_fraction", &SettingsParser::set_fraction},
            {"release_lock_on_cudamalloc", &SettingsParser::set_lock},
            {"backend", &SettingsParser::set_backend},
        };
        // These settings change nothing in the model: host memory, handles, kinds of errors.
        static const std::vector<std::string> without_effect = {
            "expandable_segments_reserve",
            "expandable_segments_reserve_by_class",
            "graph_capture_record_stream_reuse",
            "throw_on_cudamalloc_oom",
            "use_cuda_host_register"};
        const auto known = known_keys.find(key_);
        if (known != known_keys.end()) {
            (this->*known->second)();
        } else if (key_.rfind("pinned_", 0) != 0 &&
                   std::find(without_effect.begin(), without_effect.end(), key_) ==
                       without_effect.end()) {
            refuse(text_, "'" + key_ + "' is not a setting of torch's CUDA allocator");
        }
    }

    void set_expandable() { settings_.is_expandable = flag(); }
    void set_lock() { settings_.releases_lock = flag(); }
    void set_backend() { settings_.is_native = value_ == "native"; }
    void set_max_split() { settings_.max_split_bytes = number(value_) * kMebibyte; }
    void set_non_split_rounding() {
        settings_.non_split_rounding_bytes = number(value_) * kMebibyte;
    }
    void set_large_segment() {
        settings_.large_segment_bytes = number(value_) * kMebibyte;
        if (settings_.large_segment_bytes <= kLeastOwnSegmentBytes) {
            refuse(text_, "large_segment_size_mb must be more than 10");
        }
    }
    void set_threshold() {
        settings_.collection_threshold = real();
        if (settings_.collection_threshold <= 0 || settings_.collection_threshold >= 1) {
            refuse(text_, "garbage_collection_threshold must lie between 0 and 1");
        }
    }
    void set_fraction() {
        settings_.memory_fraction = real();
        if (settings_.memory_fraction <= 0 || settings_.memory_fraction > 1) {
            refuse(text_, "per_process_memory_fraction must be above 0 and at most 1");
        }
    }

    // Reads one number for all sizes, or [64:8,256:4,>:1]: the first entry fills the sizes below
    // it, sizes between two entries have none, and > begins after the last.
    void set_divisions() {
        std::string_view list = value_;
        if (list.empty() || list.front() != '[') {
            settings_.divisions.fill(power_of_two(value_));
            return;
        }
        if (list.back() != ']') {
            refuse(text_, "roundup_power2_divisions: a list ends with ]");
        }
        list = list.substr(1, list.size() - 2);
        size_t last = 0;
        bool is_first = true;
        for (const std::string_view entry : split(list)) {
            const size_t colon = entry.find(':');
            if (colon == std::string_view::npos) {
                refuse(text_, "roundup_power2_divisions: '" + std::string(entry) + "' is not A:B");
            }
            const std::string_view size = trimmed(entry.substr(0, colon));
            const uint64_t divisions = power_of_two(trimmed(entry.substr(colon + 1)));
            if (size == ">") {
                std::fill(settings_.divisions.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                          settings_.divisions.end(),
                          divisions);
                continue;
            }
            const size_t interval = interval_of(power_of_two(size) * kMebibyte);
            if (is_first) {
                std::fill_n(settings_.divisions.begin(), interval, divisions);
            }
            is_first = false;
            settings_.divisions[interval] = divisions;
            last = interval;
        }
    }

    void check() const {
        const uint64_t large = settings_.large_segment_bytes;
        if (settings_.max_split_bytes < large) {
            refuse(text_,
                   "max_split_size_mb must be at least that of a large segment, " +
                       std::to_string(large / kMebibyte));
        }
        if (settings_.non_split_rounding() < large) {
            refuse(text_,
                   "max_non_split_rounding_mb must be at least that of a large segment, " +
                       std::to_string(large / kMebibyte));
        }
        if (settings_.is_expandable && large % kSegmentRounding != 0) {
            refuse(text_, "large_segment_size_mb must be even with expandable_segments");
        }
    }

    bool flag() const {
        if (value_ != "True" && value_ != "False") {
            refuse(text_, key_ + " takes True or False");
        }
        return value_ == "True";
    }
    uint64_t number(std::string_view value) const {
        uint64_t result = 0;
        const auto [end, error] =
            std::from_chars(value.data(), value.data() + value.size(), result);
        if (error != std::errc() || end != value.data() + value.size() || result > 1U << 30) {
            refuse(text_, key_ + ": '" + std::string(value) + "' is not a number");
        }
        return result;
    }
    uint64_t power_of_two(std::string_view value) const {
        const uint64_t result = number(value);
        if (!std::has_single_bit(result)) {
            refuse(text_, key_ + ": " + std::string(value) + " is not a power of two");
        }
        return result;
    }
    double real() const {
        double result = 0;
        const auto [end, error] =
            std::from_chars(value_.data(), value_.data() + value_.size(), result);
        if (error != std::errc() || end != value_.data() + value_.size()) {
            refuse(text_, key_ + ": '" + value_ + "' is not a number");
        }
        return result;
    }

    std::string text_;
    AllocatorSettings settings_;
    std::string key_;
    std::string value_;
};

}  // namespace

uint64_t AllocatorSettings::round_up(uint64_t requested_bytes) const {
    if (requested_bytes < kLeastBlockBytes) {
        return kLeastBlockBytes;
    }
    const uint64_t parts = divisions[interval_of(requested_bytes)];
    if (parts <= 1 || requested_bytes <= kLeastBlockBytes * parts) {
        return round_to(requested_bytes, kLeastBlockBytes);
    }
    const uint64_t step = std::bit_floor(requested_bytes) / parts;
    return step == 0 ? std::bit_ceil(requested_bytes) : round_to(requested_bytes, step);
}

uint64_t AllocatorSettings::segment_bytes(uint64_t rounded_bytes) const {
    if (rounded_bytes <= kMostSmallBytes) {
        return kSmallSegmentBytes;
    }
    return rounded_bytes < kLeastOwnSegmentBytes ? large_segment_bytes
                                                 : round_to(rounded_bytes, kSegmentRounding);
}

AllocatorSettings parse_allocator_settings(const std::string& text) {
    return SettingsParser(text).parse();
}

AllocatorSettings recorded_allocator_settings(const std::string& text) {
    try {
        return parse_allocator_settings(text);
    } catch (const TraceError& error) {
        AllocatorSettings unread;
        unread.text = text;
        unread.fault = std::string(error.what()) + "; torch's defaults are assumed";
        return unread;
    }
}

}  // namespace peakline::report
