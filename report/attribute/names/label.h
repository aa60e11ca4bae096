// The meaning of a row: where its bytes belong. Plain data; render turns it into text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace peakline::report {

struct Location {
    std::string file;      // of a native frame: its library or executable
    uint32_t line = 0;     // 0: unknown, or rows are not lines
    std::string function;  // empty: rows are files
    // The same with its class, where Python knows it; of a native frame with its arguments.
    std::string qualified_name;
    bool is_native = false;
};

struct Label {
    // What equal rows share and what orders rows of equal size; independent of how paths are shown.
    std::string key;
    // Before the frames: what happened there, such as "backward of ". Mostly empty.
    std::string prefix = {};
    // Rows of code: the frame, or the frames from leaf to root. Otherwise empty.
    std::vector<Location> frames;
    // Other rows: the text, such as "untraced". With frames: what stands before them.
    std::string name;
};

// Bytes of a row by what asked for them below its line: an operator of torch ("aten::addmm"), or a
// line of the code that was passed over ("adamw.py:130 (_init_group)"). Empty: not known.
struct ViaPart {
    std::string name;
    uint64_t bytes = 0;
    uint64_t count = 0;
};

// What rows of these labels share.
inline std::vector<std::string> keys_of_labels(const std::vector<Label>& labels) {
    std::vector<std::string> keys;
    keys.reserve(labels.size());
    for (const Label& label : labels) {
        keys.push_back(label.key);
    }
    return keys;
}

// The location of the first label that has one; nullptr: none has.
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
