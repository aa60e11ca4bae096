// Puts the lines of the model into the stacks of code that torch.compile generated.
//
// Note [Compiled code]
// A stack of compiled code has three parts, innermost first: a line of a generated file, functions
// of torch, and the compiled function. The frame of that function is always at its `def` line. The
// recorder stored the lines of the model behind each line of a generated file
// (pyhook/peakline/torch_objects/compiled). They take the place of the `def` line; the frames
// of torch and of the generated file stay, marked, so that no report takes one of them for the line
// of a row. In the backward pass the compiled function is in the stack that created the node, and
// is replaced there.
//
// A generated file can serve several functions. So facts belong to a compiled function, which must
// be in the stack: by file, name and range of lines. Else the stack stays as it was recorded.
#pragma once

#include <cstdint>
#include <string_view>

#include "definitions.h"

namespace peakline::report {

// Replaces the stacks of contexts that ran compiled code. Ids of strings, frames and nodes are
// added; none changes its meaning. Fills `compiled` and `passing_files`.
void place_compiled_lines(Definitions* definitions);

// The source of the line of a context.
LineSource line_source(const Definitions& definitions, uint32_t context_id);

// The operators fused into the kernel that allocated: "aten.gelu, aten.mul". Empty: unknown.
std::string_view fused_operators(const Definitions& definitions, uint32_t context_id);

// Whether frames with this file, a string id, only lie between such a line and its memory.
bool only_passes_on(const Definitions& definitions, uint32_t file);

}  // namespace peakline::report
