// The categories that a stack alone shows. Used by --by category, and to leave workspaces out of
// the memory that compiling takes.
#pragma once

#include <cstdint>

#include "categories.h"
#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

// Memory that a library allocates besides its tensors is kWorkspace: cuBLAS, cuDNN, scratch of cub.
// kCommunication if torch's distributed code allocates; else kUnknown.
Category native_category(StackLookup& stacks, uint32_t native_node);

// Whether the innermost frame beneath torch's thin wrappers is in torch.distributed.
bool is_distributed(const Definitions& definitions, uint32_t python_node);

}  // namespace peakline::report
