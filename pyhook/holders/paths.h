// Writes a path of the heap graph as the program would name its end: "train.losses[1207]", "batch
// of main (train.py:30)", "saved by MulBackward0 in the graph of train.losses[3]". Runs no code of
// the program: names come from dictionaries, class layouts and code objects. Needs the GIL;
// releases all Python objects that it creates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heap_graph.h"

namespace peakline::pyhook {

struct PathText {
    uint32_t kind = 0;  // format::HolderKind
    std::string text;
};

// The path from a root to this vertex: its shortest path, or the one through `holder`.
PathText write_path(const HeapGraph& graph, uint32_t vertex);
PathText write_path_through(const HeapGraph& graph, uint32_t holder, uint32_t vertex);
// The vertex of the root of its path.
uint32_t root_of(const HeapGraph& graph, uint32_t vertex);

// A circle of objects that each hold the next: "Net.body -> x of f -> Net".
std::string write_circle(const Root& root, const std::vector<Vertex>& circle);
bool is_gradient_of(const Vertex& holder, const Vertex& held);

}  // namespace peakline::pyhook
