// Source lines of native code, from the debug information (DWARF) of its file: elfutils' libdw
// reads it. Where the machine has no libdw.so.1, or the file no debug information, there are no
// lines. Nothing is downloaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace peakline::report {

// A position in the source. Functions that the compiler put into their callers have one each.
struct SourceLine {
    std::string file;
    uint32_t line = 0;
    std::string function;  // of one that was inlined; else empty: the symbol names it
};

// Of one file. One thread.
class SourceLines {
public:
    explicit SourceLines(const std::string& path);
    SourceLines(SourceLines&&) noexcept;
    SourceLines& operator=(SourceLines&&) = delete;
    ~SourceLines();

    // Of the instruction at `address` (as the file counts addresses), innermost function first.
    // Empty: not known.
    std::vector<SourceLine> find(uint64_t address) const;

private:
    struct Session;
    std::unique_ptr<Session> session_;  // nullptr: there are no lines
};

}  // namespace peakline::report
