// The meaning of a row: the code or name that its bytes belong to. Plain data; render turns it into
// text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace peakline::report {

struct Location {
    std::string file;      // for a native frame: its library or executable
    uint32_t line = 0;     // 0: unknown, or rows are not lines
    std::string function;  // empty: rows are files
    // The function with its class, if Python knows it; for a native frame with its arguments.
    std::string qualified_name;
    bool is_native = false;
};

struct Label {
    // Equal for all parts of a row, and the order among rows of equal size; independent of the
    // display of paths.
    std::string key;
    // A text before the frames, such as "backward of ". Mostly empty.
    std::string prefix = {};
    // For rows of code: the frame, or the frames from leaf to root. Otherwise empty.
    std::vector<Location> frames;
    // For other rows: the text, such as "untraced". With frames: a text before them.
    std::string name;
};

// Bytes of a row by the code that allocated them below its line: an operator of torch
// ("aten::addmm"), or a passed-over line ("adamw.py:130 (_init_group)"). Or by the line of the
// program above a library's line ("/project/train.py:27"). Empty: unknown.
struct ViaPart {
    std::string name;
    uint64_t bytes = 0;
    uint64_t count = 0;
};

// The key of a row with these labels.
inline std::vector<std::string> keys_of_labels(const std::vector<Label>& labels) {
    std::vector<std::string> keys;
    keys.reserve(labels.size());
    for (const Label& label : labels) {
        keys.push_back(label.key);
    }
    return keys;
}

// The location of the first label with one; nullptr: none has.
inline const Location* location_of_labels(const std::vector<Label>& labels) {
    for (const Label& label : labels) {
        if (!label.frames.empty()) {
            return &label.frames.front();
        }
    }
    return nullptr;
}

inline constexpr const char* kOutsideModulesName = "outside of modules";
inline constexpr const char* kUntracedName = "untraced";
inline constexpr const char* kBeforePythonName = "before Python stacks could be read";
inline constexpr const char* kNoPythonName = "no python frame";
inline constexpr const char* kUnknownName = "unknown (counted, not recorded)";
inline constexpr const char* kUnrecordedName = "stack not recorded";

}  // namespace peakline::report
