#include "native_frames.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fnmatch.h>

#include "operator_names.h"
#include "operator_search.h"
#include "report/symbols/frame_names.h"

namespace peakline::report {
namespace {

// Template arguments up to this length are kept: "<float>".
constexpr size_t kShortArguments = 20;

// Libraries that are no extensions: torch, Python, CUDA, the system, peakline.
constexpr const char* kKnownLibraries[] = {
    "libtorch*",  "libc10*",      "libshm*",  "libcaffe2*", "libpeakline*", "libpython*",
    "libcu*",     "libnv*",       "libnccl*", "libc.so*",   "libc-*",       "libstdc++*",
    "libgcc_s*",  "libpthread*",  "libm.so*", "ld-*",       "ld.so*",       "libgomp*",
    "libunwind*", "libpkunwind*", "libdl*",   "[[]vdso[]]", "libsimgpu*",   "_ctypes*",
    "libffi*",    "_C.cpython*",
};

// Python itself, as an executable.
bool is_python(const std::string& path) {
    const std::string file(file_name_of(path));
    return file == "python" || fnmatch("python[23]*", file.c_str(), 0) == 0;
}

bool is_own(const std::string& path) {
    const std::string file(file_name_of(path));
    return !file.empty() && file[0] != '(' && !is_python(path) &&
           std::none_of(std::begin(kKnownLibraries),
                        std::end(kKnownLibraries),
                        [&](const char* glob) { return fnmatch(glob, file.c_str(), 0) == 0; });
}

Location native_location(StackLookup& stacks, uint32_t frame) {
    const std::string& function = stacks.symbols().name(frame);
    Location location;
    location.is_native = true;
    location.file = stacks.symbols().path(frame);
    location.function = short_function(function);
    location.qualified_name = function;
    return location;
}

// The locations of a frame, with lines for the program's own code: an inlined function comes before
// its enclosing function.
std::vector<Location> locations_of(StackLookup& stacks, uint32_t frame) {
    const Location whole = native_location(stacks, frame);
    std::vector<Location> locations;
    if (is_own(whole.file)) {
        for (const SourceLine& line : stacks.symbols().lines(frame)) {
            Location location = whole;
            location.file = line.file.empty() ? whole.file : line.file;
            location.line = line.line;
            if (!line.function.empty()) {
                location.function = location.qualified_name = line.function;
            }
            locations.push_back(std::move(location));
        }
    }
    if (locations.empty()) {
        locations.push_back(whole);
    }
    return locations;
}

// Inlined code of the standard library is no part of the program.
bool is_of_system(const Location& location) {
    return location.line != 0 && location.file.compare(0, 5, "/usr/") == 0;
}

// The location of a frame in the program's own code, if it has one. Empty also for code of the CUDA
// runtime linked into a program.
std::optional<Location> own_location(StackLookup& stacks, uint32_t frame) {
    if (!is_own(stacks.symbols().path(frame)) || is_cuda_runtime(stacks.symbols().name(frame))) {
        return std::nullopt;
    }
    const std::vector<Location> locations = locations_of(stacks, frame);
    const auto own = std::find_if_not(locations.begin(), locations.end(), is_of_system);
    return own != locations.end() ? std::optional(*own) : std::nullopt;
}

// Returns the position after the bracket that closes the one at `open`, or the end of the text.
size_t behind_brackets(const std::string& text, size_t open) {
    int depth = 0;
    for (size_t at = open; at < text.size(); ++at) {
        depth += text[at] == '<' || text[at] == '(' ? 1 : 0;
        depth -= (text[at] == '>' && text[at - 1] != '-') || text[at] == ')' ? 1 : 0;
        if (depth == 0) {
            return at + 1;
        }
    }
    return text.size();
}

}  // namespace

bool is_interpreter(StackLookup& stacks, uint32_t frame) {
    const std::string& path = stacks.symbols().path(frame);
    if (path.empty() || is_python(path)) {
        return true;
    }
    const std::string& function = stacks.symbols().name(frame);
    return function.starts_with("_PyEval_") || function.starts_with("PyEval_");
}

std::string short_function(std::string function) {
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    for (size_t at = function.find(kAnonymous); at != std::string::npos;
         at = function.find(kAnonymous)) {
        function.erase(at, kAnonymous.size());
    }
    std::string kept;
    size_t begin = 0;
    while (begin < function.size()) {
        const size_t bracket = function.find_first_of("<( ", begin);
        kept += function.substr(begin, bracket - begin);
        if (bracket == std::string::npos) {
            break;
        }
        begin = bracket + 1;
        if (function[bracket] == ' ') {
            kept.clear();  // the text before it is the return type
        } else if (function[bracket] == '<') {
            begin = behind_brackets(function, bracket);
            kept += begin - bracket <= kShortArguments ? function.substr(bracket, begin - bracket)
                                                       : "<...>";
        } else if (kept.ends_with("operator") && function[begin] == ')') {
            kept += "()";
            ++begin;
        } else {
            break;
        }
    }
    // A lambda counts as part of its enclosing function.
    return kept.substr(0, kept.find("::{lambda"));
}

std::string own_function(StackLookup& stacks, uint32_t frame) {
    const std::string& path = stacks.symbols().path(frame);
    const std::string& function = stacks.symbols().name(frame);
    const bool is_library = path.find(".so") != std::string::npos;
    return is_library && is_symbol(function) && is_own(path) && !is_cuda_runtime(function)
               ? short_function(function) + " (" + std::string(file_name_of(path)) + ")"
               : std::string();
}

std::vector<Location> native_locations(StackLookup& stacks, const Context& context) {
    std::vector<Location> locations;
    visit_native_frames(stacks, context.native_node, [&](uint32_t frame) {
        if (is_interpreter(stacks, frame)) {
            return false;
        }
        std::vector<Location> of_frame = locations_of(stacks, frame);
        std::move(of_frame.begin(), of_frame.end(), std::back_inserter(locations));
        return true;
    });
    return locations;
}

std::optional<Location> chosen_native_location(StackLookup& stacks, const Context& context) {
    const FoundOperators found = find_operators(stacks, context);
    const std::string& allocating = found.allocating.empty() ? found.innermost : found.allocating;
    uint32_t chosen = 0;
    std::optional<Location> own;
    visit_native_frames(stacks, context.native_node, [&](uint32_t frame) {
        chosen = chosen == 0 ? frame : chosen;
        if (is_interpreter(stacks, frame)) {
            return false;
        }
        own = own_location(stacks, frame);
        // If an operator calls itself, choose the outermost call.
        if (!allocating.empty() && operator_of_symbol(stacks.symbols().name(frame)) == allocating) {
            chosen = frame;
        }
        return !own.has_value();
    });
    if (own.has_value() || chosen == 0) {
        return own;
    }
    return locations_of(stacks, chosen).back();
}

}  // namespace peakline::report
