// Decodes co_linetable: the source line of an instruction. Pure functions over bytes, which never
// read beyond `length`, even for invalid bytes. Called once per new frame.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::pyhook {

struct LineTable {
    const uint8_t* bytes;
    size_t length;
    int32_t first_line;  // co_firstlineno
};

// `byte_offset`: of the instruction in the bytecode (f_lasti as Python reports it).
// 0: the instruction has no line, or the offset is outside the table.
uint32_t line_of_pairs(const LineTable& table, int64_t byte_offset);      // 3.10
uint32_t line_of_locations(const LineTable& table, int64_t byte_offset);  // 3.11 and later

}  // namespace peakline::pyhook
