#include "paths.h"

#include <algorithm>
#include <vector>

#include "path_writer.h"

namespace peakline::pyhook {
namespace {

PyObject* object_of(const Vertex& vertex) {
    return reinterpret_cast<PyObject*>(vertex.address);
}

std::vector<uint32_t> chain_to(const HeapGraph& graph, uint32_t vertex) {
    std::vector<uint32_t> chain = {vertex};
    while (graph.vertex(chain.back()).parent != chain.back()) {
        chain.push_back(graph.vertex(chain.back()).parent);
    }
    std::reverse(chain.begin(), chain.end());
    return chain;
}

PathText write_chain(const HeapGraph& graph, const std::vector<uint32_t>& chain) {
    using Kind = Vertex::Kind;
    PathWriter writer(graph.root(graph.vertex(chain.front())));
    for (size_t i = 2; i < chain.size(); ++i) {
        const Vertex& holder = graph.vertex(chain[i - 1]);
        const Vertex& held = graph.vertex(chain[i]);
        if (held.kind == Kind::kGradient) {
            writer.follow_gradient();
        } else if (held.kind == Kind::kObject && holder.kind == Kind::kNode) {
            writer.leave_node(holder.address);
        } else if (held.kind == Kind::kObject && holder.kind == Kind::kObject) {
            writer.follow(object_of(holder), object_of(held));
        }
    }
    if (graph.vertex(chain.back()).kind == Kind::kNode) {
        writer.end_in_node(graph.vertex(chain.back()).address);
    } else if (graph.vertex(chain.back()).kind == Kind::kObject &&
               !graph.vertex(chain.back()).is_target) {
        writer.end_in_context();
    }
    return {writer.kind(), writer.text()};
}

}  // namespace

PathText write_path(const HeapGraph& graph, uint32_t vertex) {
    return write_chain(graph, chain_to(graph, vertex));
}

PathText write_path_through(const HeapGraph& graph, uint32_t holder, uint32_t vertex) {
    std::vector<uint32_t> chain = chain_to(graph, holder);
    chain.push_back(vertex);
    return write_chain(graph, chain);
}

}  // namespace peakline::pyhook
