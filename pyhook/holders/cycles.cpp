#include "cycles.h"

#include <algorithm>
#include <utility>

#include "allocator/record/format/trace_format.h"
#include "frame_layout.h"
#include "object_facts.h"
#include "paths.h"
#include "roots.h"

namespace peakline::pyhook {
namespace {

using format::HolderKind;
using Kind = Vertex::Kind;

constexpr uint32_t kNone = UINT32_MAX;

// A cycle is named after its member of the best rank; the first rank is best.
enum class Rank : uint8_t {
    kInstance,
    kFunction,
    kObject,
    kTensorWithGradient,
    kTensor,
    kNoObject
};

Rank rank_of(const Vertex& vertex) {
    if (vertex.kind != Kind::kObject) {
        return Rank::kNoObject;
    }
    auto* const object = reinterpret_cast<PyObject*>(vertex.address);
    if (const uint64_t tensor = tensor_of_object(object); tensor != 0) {
        PeaklineTensorFacts facts{};
        peakline_tensor_facts(tensor, &facts);
        return facts.gradient != 0 ? Rank::kTensorWithGradient : Rank::kTensor;
    }
    const bool is_instance = (PyType_GetFlags(Py_TYPE(object)) & Py_TPFLAGS_HEAPTYPE) != 0;
    return is_instance ? Rank::kInstance : is_function(object) ? Rank::kFunction : Rank::kObject;
}

std::string name_of(PyObject* object) {
    return is_function(object) ? function_of(code_of(object)) : class_of(object);
}

Root outside_root(PyObject* object) {
    Root root = make_root(HolderKind::kOther, "<" + class_of(object) + ">", object);
    root.detail = ", held in C or C++";
    return root;
}

// Tarjan's search for strongly connected components, without recursion.
class GroupFinder {
public:
    GroupFinder(const std::vector<uint32_t>& begins, const std::vector<uint32_t>& targets)
        : begins_(begins),
          targets_(targets),
          next_(begins.begin(), begins.end() - 1),
          order_(next_.size(), kNone),
          lowest_(next_.size()),
          groups_(next_.size(), kNone) {}

    std::vector<uint32_t> find(uint32_t* group_count) {
        for (uint32_t vertex = 0; vertex < order_.size(); ++vertex) {
            if (order_[vertex] == kNone) {
                search_from(vertex);
            }
        }
        *group_count = group_count_;
        return std::move(groups_);
    }

private:
    void enter(uint32_t vertex) {
        order_[vertex] = lowest_[vertex] = entered_++;
        path_.push_back(vertex);
        open_.push_back(vertex);
    }

    void search_from(uint32_t first) {
        enter(first);
        while (!path_.empty()) {
            const uint32_t vertex = path_.back();
            if (next_[vertex] == begins_[vertex + 1]) {
                leave(vertex);
                continue;
            }
            const uint32_t target = targets_[next_[vertex]++];
            if (order_[target] == kNone) {
                enter(target);
            } else if (groups_[target] == kNone) {
                lowest_[vertex] = std::min(lowest_[vertex], order_[target]);
            }
        }
    }

    void leave(uint32_t vertex) {
        path_.pop_back();
        if (!path_.empty()) {
            lowest_[path_.back()] = std::min(lowest_[path_.back()], lowest_[vertex]);
        }
        if (lowest_[vertex] != order_[vertex]) {
            return;
        }
        uint32_t member = kNone;
        while (member != vertex) {
            member = open_.back();
            open_.pop_back();
            groups_[member] = group_count_;
        }
        ++group_count_;
    }

    const std::vector<uint32_t>& begins_;
    const std::vector<uint32_t>& targets_;
    std::vector<uint32_t> next_;
    std::vector<uint32_t> order_;
    std::vector<uint32_t> lowest_;
    std::vector<uint32_t> groups_;
    std::vector<uint32_t> path_;
    std::vector<uint32_t> open_;  // visited, without a group yet
    uint32_t entered_ = 0;
    uint32_t group_count_ = 0;
};

}  // namespace

Cycles::Cycles(const HeapGraph& reached, std::vector<PyObject*> objects)
    : objects_(std::move(objects)), graph_(reached, objects_) {}

bool Cycles::find() {
    if (!graph_.walk_edges()) {
        return false;
    }
    for (uint32_t i = 0; i < graph_.vertices().size(); ++i) {
        if (graph_.vertex(i).kind == Kind::kObject) {
            vertices_[reinterpret_cast<PyObject*>(graph_.vertex(i).address)] = i;
        }
    }
    count_references();
    find_groups();
    return true;
}

// C++ holds one reference to a tensor's object while the tensor has other holders than its object.
void Cycles::count_references() {
    std::vector<bool> has_owner(graph_.vertices().size());
    references_.resize(graph_.vertices().size());
    for (const auto& [holder, held] : graph_.edges()) {
        const bool is_object = graph_.vertex(holder).kind == Kind::kObject;
        const bool is_owned =
            graph_.vertex(held).kind == Kind::kObject &&
            (!is_object || is_gradient_of(graph_.vertex(holder), graph_.vertex(held)));
        if (!is_owned || !has_owner[held]) {
            ++references_[held];
        }
        has_owner[held] = has_owner[held] || is_owned;
    }
}

void Cycles::find_groups() {
    begins_.resize(graph_.vertices().size() + 1);
    for (const auto& [holder, held] : graph_.edges()) {
        ++begins_[holder + 1];
    }
    for (size_t i = 1; i < begins_.size(); ++i) {
        begins_[i] += begins_[i - 1];
    }
    targets_.resize(graph_.edges().size());
    std::vector<uint32_t> next(begins_.begin(), begins_.end() - 1);
    for (const auto& [holder, held] : graph_.edges()) {
        targets_[next[holder]++] = held;
    }
    uint32_t group_count = 0;
    groups_ = GroupFinder(begins_, targets_).find(&group_count);
    is_cycle_.resize(group_count);
    for (const auto& [holder, held] : graph_.edges()) {
        if (groups_[holder] == groups_[held]) {
            is_cycle_[groups_[held]] = true;
        }
    }
}

std::vector<Root> Cycles::outside_roots() const {
    std::vector<Root> roots;
    for (PyObject* const object : objects_) {
        const auto at = vertices_.find(object);
        const Py_ssize_t known = 1 + (at == vertices_.end() ? 0 : references_[at->second]);
        if (Py_REFCNT(object) > known) {  // the list holds one
            roots.push_back(outside_root(object));
        }
    }
    return roots;
}

std::vector<Root> Cycles::cycle_roots(const HeapGraph& graph) const {
    std::vector<Rank> best(is_cycle_.size(), Rank::kNoObject);
    const auto is_asked = [&](PyObject* object) {
        const auto at = vertices_.find(object);
        return at != vertices_.end() && is_cycle_[groups_[at->second]] && !graph.is_reached(object);
    };
    for (PyObject* const object : objects_) {
        if (is_asked(object)) {
            const uint32_t vertex = vertices_.at(object);
            best[groups_[vertex]] = std::min(best[groups_[vertex]], rank_of(graph_.vertex(vertex)));
        }
    }
    std::vector<bool> has_root(is_cycle_.size());
    std::vector<Root> roots;
    for (PyObject* const object : objects_) {
        if (!is_asked(object)) {
            continue;
        }
        const uint32_t vertex = vertices_.at(object);
        const uint32_t group = groups_[vertex];
        const bool is_best = rank_of(graph_.vertex(vertex)) == best[group];
        if (is_best && (!has_root[group] || best[group] >= Rank::kTensorWithGradient)) {
            has_root[group] = true;
            roots.push_back(make_root(HolderKind::kCycle, name_of(object), object));
        }
    }
    return roots;
}

std::vector<Root> Cycles::other_roots(const HeapGraph& graph) const {
    std::vector<Root> roots;
    for (PyObject* const object : objects_) {
        if (!graph.is_reached(object)) {
            roots.push_back(outside_root(object));
        }
    }
    return roots;
}

// Breadth-first search within its group.
std::vector<Vertex> Cycles::shortest_circle(uint32_t from) const {
    std::unordered_map<uint32_t, uint32_t> parents;
    std::vector<uint32_t> line = {from};
    for (size_t i = 0; i < line.size() && parents.count(from) == 0; ++i) {
        for (uint32_t at = begins_[line[i]]; at < begins_[line[i] + 1]; ++at) {
            const uint32_t target = targets_[at];
            if (groups_[target] == groups_[from] && parents.try_emplace(target, line[i]).second) {
                line.push_back(target);
            }
        }
    }
    std::vector<Vertex> circle = {graph_.vertex(from)};
    uint32_t vertex = from;
    do {
        vertex = parents.at(vertex);
        circle.push_back(graph_.vertex(vertex));
    } while (vertex != from);
    std::reverse(circle.begin(), circle.end());
    return circle;
}

std::string Cycles::detail_of(const Root& root) const {
    const std::vector<Vertex> circle = shortest_circle(vertices_.at(root.object));
    bool has_gradient = false;
    bool has_node = false;
    for (size_t i = 1; i < circle.size(); ++i) {
        has_gradient = has_gradient || is_gradient_of(circle[i - 1], circle[i]);
        has_node = has_node || circle[i].kind == Kind::kNode;
    }
    return std::string(has_node ? " in a reference cycle through a graph ("
                                : " in a reference cycle (") +
           write_circle(root, circle) +
           (has_node && has_gradient ? "): only setting .grad to None frees it"
            : has_node               ? "): the garbage collector may not see it"
                                     : "): only the garbage collector frees it");
}

}  // namespace peakline::pyhook
