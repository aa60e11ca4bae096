// Reads code objects and strings of CPython without the GIL and without its functions, from a
// frame that runs on this thread: it keeps them alive and they never change. Slow path of a
// capture, once per frame that was not seen before. Allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pyhook/frames/frame_walker.h"

namespace peakline::pyhook {

struct CodeReader {
    const PythonLayout* layout = nullptr;
    const void* code_type = nullptr;  // &PyCode_Type

    // False for frames Python itself does not show: those that have not reached their first
    // traceable instruction, and those that run something that is not a code object.
    // Traps: calling a class pushes such a frame in 3.13 (file and name "__init__", line -1).
    bool is_visible(const RawFrame& frame) const;

    // f_lasti as Python shows it.
    int64_t byte_offset(const RawFrame& frame) const;

    // The line that runs. An instruction without a line, as torch.compile generates them, counts
    // for the first line of its function.
    uint32_t line(const RawFrame& frame) const;

    // UTF-8 of a part of the code object; returns the bytes written, cut at a whole character.
    size_t copy_file(const RawFrame& frame, char* out, size_t room) const;
    size_t copy_name(const RawFrame& frame, char* out, size_t room) const;
    size_t copy_qualified_name(const RawFrame& frame, char* out, size_t room) const;

    // UTF-8 of any str object; a lone surrogate becomes U+FFFD.
    size_t copy_text(const void* string, char* out, size_t room) const;

private:
    size_t copy_string(const RawFrame& frame, uint16_t offset, char* out, size_t room) const;
};

}  // namespace peakline::pyhook
