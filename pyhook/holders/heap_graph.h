// The graph of objects that hold each other, from roots to the tensors of blocks: a breadth-first
// walk with the garbage collector's own functions. Creates no Python object, holds no reference and
// runs no code of the program. Needs the GIL for the whole call; see search.h.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "preload/peakline_api.h"
#include "pyhook/code/address_table.h"

namespace peakline::pyhook {

struct Vertex {
    enum class Kind : uint8_t {
        kRoot,    // address: index in roots()
        kObject,  // of Python
        kTensor,  // without a Python object: a gradient or a graph's leaf; a TensorImpl
        kNode,    // of autograd
    };
    uint64_t address = 0;
    uint32_t parent = 0;  // itself: no parent
    Kind kind = Kind::kObject;
    bool is_target = false;  // a tensor in one of the blocks
    bool is_later = false;   // expanded after all others
};

// The beginning of paths.
struct Root {
    uint32_t kind = 0;   // format::HolderKind
    std::string name;    // "losses", "train"
    std::string detail;  // " of main (train.py:30)", after the path
    PyObject* object = nullptr;
    bool is_namespace = false;  // a dictionary of names
    bool is_later = false;      // objects reached from others get no path through this one
};

struct NumberedAddress : Addressed {
    uint32_t vertex;
    uint32_t unused;
};

// A direct holder of a block: a tensor in it, or a node that saved one.
struct HeldBy {
    uint32_t block = 0;   // index in the searched blocks
    uint32_t vertex = 0;  // the tensor or the node
};

// From a vertex to one that it refers to, once per reference.
using Edge = std::pair<uint32_t, uint32_t>;

class HeapGraph {
public:
    // `blocks` are sorted by address and must outlive this. `deadline_ns`: of CLOCK_MONOTONIC.
    HeapGraph(const std::vector<PeaklineLiveBlock>& blocks, uint64_t deadline_ns);
    // For the objects that `reached` has not reached, with all edges.
    explicit HeapGraph(const HeapGraph& reached, const std::vector<PyObject*>& objects);

    // Walks from these roots to all objects not reached yet. No path leads through another root.
    // Returns false if time is up.
    bool walk(const std::vector<Root>& roots);
    // Walks from all objects of the constructor.
    bool walk_edges();

    const Vertex& vertex(uint32_t index) const { return vertices_[index]; }
    const std::vector<Vertex>& vertices() const { return vertices_; }
    const std::vector<Edge>& edges() const { return edges_; }
    const Root& root(const Vertex& vertex) const { return roots_[vertex.address]; }
    Root& root(const Vertex& vertex) { return roots_[vertex.address]; }
    // In the order of discovery: the shortest paths first.
    const std::vector<HeldBy>& found() const { return found_; }
    // The number of holders of this block beyond those in found().
    uint32_t unlisted_count(uint32_t block) const;
    // Holders of a target other than its parent.
    const std::vector<uint32_t>& more_holders(uint32_t target) const;
    // The number of objects expanded so far.
    uint64_t object_count() const { return expanded_count_; }
    bool knows_tensors() const { return knows_tensors_; }
    bool is_reached(PyObject* object) const {
        return index_.has(reinterpret_cast<uint64_t>(object));
    }
    bool is_tensor(PyObject* object) { return type_of(object).is_tensor; }
    // The searched block that contains this tensor; -1: none.
    int64_t block_of_tensor(PyObject* object);

private:
    using Traverse = int (*)(PyObject* object, visitproc visit, void* data);
    struct Type {
        Traverse traverse = nullptr;
        bool is_tensor = false;
        bool is_module = false;
        bool is_later = false;  // an optimizer: paths from models describe parameters better
        bool is_function_context = false;  // of torch.autograd.Function
    };

    const Type& type_of(PyObject* object);
    static int visit_object(PyObject* object, void* graph);
    static void visit_node(uint64_t node, void* graph);
    static void visit_saved(uint64_t tensor, uint64_t storage, void* graph);
    static void visit_variable(uint64_t tensor, uint64_t storage, void* graph);
    void add_object(PyObject* object);
    // Returns the index of a new vertex; 0 if it is known already.
    uint32_t add(uint64_t address, Vertex::Kind kind);
    uint32_t add_tensor(uint64_t impl);
    void add_holder(uint32_t target);
    // Returns false if enough holders of this block are known.
    bool add_found(int64_t block, uint32_t vertex);
    void look_at_tensor(uint32_t index, uint64_t impl);
    void expand(uint32_t index);
    bool expand_all();
    void expand_tensor(uint64_t impl);
    void expand_node(uint64_t node);
    int64_t block_at(uint64_t address) const;
    bool time_is_up();

    const std::vector<PeaklineLiveBlock>& blocks_;
    uint64_t deadline_ns_;
    PyTypeObject* tensor_class_ = nullptr;
    PyTypeObject* context_class_ = nullptr;
    PyTypeObject* optimizer_class_ = nullptr;
    bool knows_tensors_ = false;
    std::vector<Vertex> vertices_;
    std::vector<Root> roots_;
    AddressTable<NumberedAddress> index_;  // of vertices
    std::unordered_map<PyTypeObject*, Type> types_;
    std::vector<uint32_t> later_;  // vertices
    std::vector<HeldBy> found_;
    std::vector<uint32_t> found_counts_;                                // by block
    std::unordered_map<uint32_t, std::vector<uint32_t>> more_holders_;  // by target
    const HeapGraph* reached_ = nullptr;
    bool keeps_edges_ = false;
    std::vector<Edge> edges_;
    std::unordered_map<uint64_t, uint64_t> objects_of_tensors_;  // by TensorImpl; see walk_edges()
    uint64_t expanded_count_ = 0;
    uint32_t expanded_ = 0;  // vertices before it are expanded, except later ones
    uint32_t current_ = 0;   // the vertex that is expanded now
};

// An attribute of an imported module, borrowed; nullptr if there is none.
PyObject* imported(const char* module, const char* name);
// The TensorImpl of an object; 0 if it is not a tensor.
uint64_t tensor_of_object(PyObject* object);
// Returns "AccumulateGrad" for "torch::autograd::AccumulateGrad".
std::string name_of_node(uint64_t node);

}  // namespace peakline::pyhook
