// Source lines of native code, from the debug information (DWARF) of its file. elfutils' libdw
// reads it. Without libdw.so.1 on the machine, or without debug information in the file, there are
// no lines. Nothing is downloaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace peakline::report {

// A position in the source. An inlined function has its own.
struct SourceLine {
    std::string file;
    uint32_t line = 0;
    std::string function;  // name of an inlined function; else empty: the symbol has it
};

// The lines of one file. For one thread.
class SourceLines {
public:
    explicit SourceLines(const std::string& path);
    SourceLines(SourceLines&&) noexcept;
    SourceLines& operator=(SourceLines&&) = delete;
    ~SourceLines();

    // The lines of the instruction at `address` (as the file counts addresses), innermost function
    // first. Empty: unknown.
    std::vector<SourceLine> find(uint64_t address) const;

private:
    struct Session;
    std::unique_ptr<Session> session_;  // nullptr: no lines
};

}  // namespace peakline::report
