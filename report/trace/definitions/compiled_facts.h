// The facts about compiled code in a trace, as pyhook/peakline/torch_objects/compiled/records.py
// describes them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "definitions.h"

namespace peakline::report {

// A function of the program that torch compiled.
struct CompiledFunction {
    std::string file;
    std::string name;
    uint32_t first_line = 0;
    uint32_t last_line = 0;
    uint32_t instance = 0;  // the module that was compiled with it

    bool holds(const Definitions& definitions, const PythonFrame& frame) const;
};

struct CompiledFrame {
    std::string file;
    std::string function;
    uint32_t line = 0;
};

// A line of a generated file, for one compiled function.
struct CompiledLine {
    const CompiledFunction* function = nullptr;
    LineSource source = LineSource::kRecorded;
    uint32_t instance = 0;                     // the module of its memory
    std::vector<const CompiledFrame*> frames;  // from the compiled function inwards
    std::string operators;
    // Code of a graph of torch.fx, which no other program shares: its lines are right whoever
    // calls it (torch.export).
    bool is_anywhere = false;
};

class CompiledFacts {
public:
    explicit CompiledFacts(const Definitions& definitions);

    bool empty() const { return lines_.empty(); }
    // Whether facts name this file: then it is generated.
    bool has_file(const std::string& file) const;
    // The facts for a line of a generated file, one for each function that it serves.
    std::span<const CompiledLine> lines_of(const std::string& file, uint32_t line) const;

private:
    void read_function(const std::string& number, const std::string& value);
    void read_frame(const std::string& number, const std::string& value);
    void read_line(const std::string& place, const std::string& value);

    // Their addresses are stable: lines point to them.
    std::map<std::string, CompiledFunction> functions_;  // by number
    std::map<std::string, CompiledFrame> frames_;
    std::map<std::pair<std::string, uint32_t>, std::vector<CompiledLine>> lines_;
};

}  // namespace peakline::report
