#include "compiled_facts.h"

#include <charconv>
#include <string_view>

namespace peakline::report {
namespace {

constexpr std::string_view kPrefix = "compiled:";

std::vector<std::string> parts_of(std::string_view text, char separator) {
    std::vector<std::string> parts;
    size_t at = 0;
    while (at <= text.size()) {
        const size_t end = std::min(text.find(separator, at), text.size());
        parts.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

// 0 for what is no number.
uint32_t number_of(const std::string& text) {
    uint32_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

LineSource source_of(std::string_view word) {
    return word == "stale"  ? LineSource::kStale
           : word == "last" ? LineSource::kLastOfSeveral
                            : LineSource::kCompiled;
}

}  // namespace

bool CompiledFunction::holds(const Definitions& definitions, const PythonFrame& frame) const {
    return frame.line >= first_line && frame.line <= last_line &&
           definitions.text(frame.name) == name && definitions.text(frame.file) == file;
}

CompiledFacts::CompiledFacts(const Definitions& definitions) {
    // Keys in their order: functions, then frames, then the lines that name both.
    const auto& meta = definitions.meta;
    for (auto fact = meta.lower_bound(std::string(kPrefix));
         fact != meta.end() && fact->first.starts_with(kPrefix);
         ++fact) {
        const std::string rest = fact->first.substr(kPrefix.size());
        const size_t colon = rest.find(':');
        if (colon == std::string::npos) {
            continue;
        }
        const std::string kind = rest.substr(0, colon);
        const std::string place = rest.substr(colon + 1);
        if (kind == "code") {
            read_function(place, fact->second);
        } else if (kind == "frame") {
            read_frame(place, fact->second);
        } else if (kind == "line") {
            read_line(place, fact->second);
        }
    }
}

bool CompiledFacts::has_file(const std::string& file) const {
    const auto found = lines_.lower_bound({file, 0});
    return found != lines_.end() && found->first.first == file;
}

std::span<const CompiledLine> CompiledFacts::lines_of(const std::string& file,
                                                      uint32_t line) const {
    const auto found = lines_.find({file, line});
    return found == lines_.end() ? std::span<const CompiledLine>() : found->second;
}

void CompiledFacts::read_function(const std::string& number, const std::string& value) {
    const std::vector<std::string> parts = parts_of(value, '\n');
    if (parts.size() == 5) {
        functions_[number] = {
            parts[0], parts[3], number_of(parts[1]), number_of(parts[2]), number_of(parts[4])};
    }
}

void CompiledFacts::read_frame(const std::string& number, const std::string& value) {
    const std::vector<std::string> parts = parts_of(value, '\n');
    if (parts.size() == 3) {
        frames_[number] = {parts[0], parts[2], number_of(parts[1])};
    }
}

// `place`: function, line and file, which may contain colons itself.
void CompiledFacts::read_line(const std::string& place, const std::string& value) {
    const size_t first = place.find(':');
    const size_t second = first == std::string::npos ? first : place.find(':', first + 1);
    const std::vector<std::string> parts = parts_of(value, '\n');
    const auto function = functions_.find(place.substr(0, first));
    if (second == std::string::npos || parts.size() != 4 || function == functions_.end()) {
        return;
    }
    CompiledLine line{&function->second, source_of(parts[0]), number_of(parts[1]), {}, parts[3]};
    for (const std::string& number : parts_of(parts[2], ' ')) {
        if (const auto frame = frames_.find(number); frame != frames_.end()) {
            line.frames.push_back(&frame->second);
        }
    }
    const std::string file = place.substr(second + 1);
    line.is_anywhere = file.starts_with("<eval_with_key>") || file.starts_with("fx_generated_");
    lines_[{file, number_of(place.substr(first + 1, second - first - 1))}].push_back(
        std::move(line));
}

}  // namespace peakline::report
