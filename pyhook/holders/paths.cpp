#include "paths.h"

#include <algorithm>

#include "path_writer.h"

namespace peakline::pyhook {
namespace {

using Kind = Vertex::Kind;

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

void follow_link(const Vertex& holder, const Vertex& held, PathWriter* writer) {
    if (is_gradient_of(holder, held)) {
        writer->follow_gradient();
    } else if (held.kind == Kind::kTensor && holder.kind == Kind::kNode) {
        writer->follow_to_leaf();
    } else if (held.kind == Kind::kObject && holder.kind == Kind::kNode) {
        writer->leave_node(holder.address);
    } else if (held.kind == Kind::kObject && holder.kind == Kind::kObject) {
        writer->follow(object_of(holder), object_of(held));
    }
}

PathText write_chain(const HeapGraph& graph, const std::vector<uint32_t>& chain) {
    PathWriter writer(graph.root(graph.vertex(chain.front())));
    for (size_t i = 2; i < chain.size(); ++i) {
        follow_link(graph.vertex(chain[i - 1]), graph.vertex(chain[i]), &writer);
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

bool is_gradient_of(const Vertex& holder, const Vertex& held) {
    const auto impl_of = [](const Vertex& vertex) {
        return vertex.kind == Kind::kTensor   ? vertex.address
               : vertex.kind == Kind::kObject ? tensor_of_object(object_of(vertex))
                                              : 0;
    };
    PeaklineTensorFacts facts{};
    const uint64_t tensor = impl_of(holder);
    const uint64_t gradient = tensor == 0 ? 0 : impl_of(held);
    return gradient != 0 && peakline_tensor_facts(tensor, &facts) != 0 &&
           facts.gradient == gradient;
}

PathText write_path(const HeapGraph& graph, uint32_t vertex) {
    return write_chain(graph, chain_to(graph, vertex));
}

PathText write_path_through(const HeapGraph& graph, uint32_t holder, uint32_t vertex) {
    std::vector<uint32_t> chain = chain_to(graph, holder);
    chain.push_back(vertex);
    return write_chain(graph, chain);
}

uint32_t root_of(const HeapGraph& graph, uint32_t vertex) {
    return chain_to(graph, vertex).front();
}

std::string write_circle(const Root& root, const std::vector<Vertex>& circle) {
    PathWriter writer(root, PathWriter::Order::kHolderFirst);
    for (size_t i = 1; i < circle.size(); ++i) {
        follow_link(circle[i - 1], circle[i], &writer);
    }
    return writer.circle();
}

}  // namespace peakline::pyhook
