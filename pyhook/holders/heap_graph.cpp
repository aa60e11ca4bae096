#include "heap_graph.h"

#include <algorithm>
#include <ctime>

#include "object_layout.h"

namespace peakline::pyhook {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint32_t kBetweenLooks = 256;  // objects between two checks of the time
constexpr size_t kMostHolders = 8;       // kept per tensor
constexpr char kAccumulates[] = "AccumulateGrad";

uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

PyTypeObject* imported_class(const char* module, const char* name) {
    PyObject* const object = imported(module, name);
    return object != nullptr && PyType_Check(object) != 0 ? reinterpret_cast<PyTypeObject*>(object)
                                                          : nullptr;
}

bool is_derived(PyTypeObject* type, PyTypeObject* from) {
    return from != nullptr && PyType_IsSubtype(type, from) != 0;
}

// Cached, since every edge needs it; torch is never unloaded.
PyTypeObject* tensor_class() {
    static PyTypeObject* known = nullptr;
    for (const char* const name : {"TensorBase", "_TensorBase"}) {
        known = known != nullptr ? known : imported_class("torch._C", name);
    }
    return known;
}

}  // namespace

PyObject* imported(const char* module, const char* name) {
    PyObject* const modules = PyImport_GetModuleDict();
    PyObject* const found = modules == nullptr ? nullptr : PyDict_GetItemString(modules, module);
    return found != nullptr && PyModule_Check(found) != 0
               ? PyDict_GetItemString(PyModule_GetDict(found), name)
               : nullptr;
}

uint64_t tensor_of_object(PyObject* object) {
    return is_derived(Py_TYPE(object), tensor_class())
               ? peakline_tensor_of_object(reinterpret_cast<uint64_t>(object))
               : 0;
}

std::string name_of_node(uint64_t node) {
    char name[128];
    peakline_node_name(node, name, sizeof name);
    const std::string whole = name;
    const size_t colons = whole.rfind("::");
    return colons == std::string::npos ? whole : whole.substr(colons + 2);
}

HeapGraph::HeapGraph(const std::vector<PeaklineLiveBlock>& blocks, uint64_t deadline_ns)
    : blocks_(blocks), deadline_ns_(deadline_ns), found_counts_(blocks.size()) {
    index_.init(UINT32_MAX);
    tensor_class_ = tensor_class();
    optimizer_class_ = imported_class("torch.optim.optimizer", "Optimizer");
    context_class_ = imported_class("torch._C", "_FunctionBase");
    PeaklineTensorFacts facts{};
    knows_tensors_ = peakline_tensor_facts(0, &facts) != 0;
}

HeapGraph::HeapGraph(const HeapGraph& reached, const std::vector<PyObject*>& objects)
    : HeapGraph(reached.blocks_, reached.deadline_ns_) {
    reached_ = &reached;
    keeps_edges_ = true;
    vertices_.push_back({0, 0, Vertex::Kind::kRoot});
    for (PyObject* const object : objects) {
        add_object(object);
        if (is_tensor(object)) {
            const auto address = reinterpret_cast<uint64_t>(object);
            objects_of_tensors_[peakline_tensor_of_object(address)] = address;
        }
    }
}

bool HeapGraph::walk_edges() {
    return expand_all();
}

const std::vector<uint32_t>& HeapGraph::more_holders(uint32_t target) const {
    static const std::vector<uint32_t> none;
    const auto found = more_holders_.find(target);
    return found == more_holders_.end() ? none : found->second;
}

bool HeapGraph::walk(const std::vector<Root>& roots) {
    for (const Root& root : roots) {
        current_ = static_cast<uint32_t>(vertices_.size());
        vertices_.push_back({roots_.size(), current_, Vertex::Kind::kRoot});
        roots_.push_back(root);
        add_object(root.object);
        if (vertices_.size() > current_ + 1 && root.is_later && !vertices_.back().is_later) {
            vertices_.back().is_later = true;
            later_.push_back(current_ + 1);
        }
    }
    bool has_time = expand_all();
    for (size_t i = 0; i < later_.size() && has_time; ++i) {  // expand() may add more
        expand(later_[i]);
        has_time = expand_all();
    }
    later_.clear();
    return has_time;
}

bool HeapGraph::expand_all() {
    for (; expanded_ < vertices_.size(); ++expanded_) {
        if (expanded_ % kBetweenLooks == 0 && time_is_up()) {
            return false;
        }
        if (!vertices_[expanded_].is_later) {
            expand(expanded_);
        }
    }
    return true;
}

bool HeapGraph::time_is_up() {
    return now_ns() > deadline_ns_;
}

uint32_t HeapGraph::add(uint64_t address, Vertex::Kind kind) {
    if (reached_ != nullptr && reached_->index_.has(address)) {
        return 0;
    }
    const auto count = static_cast<uint32_t>(vertices_.size());
    const NumberedAddress* const known = index_.find(address);
    const uint32_t vertex = known != nullptr ? known->vertex : count;
    if (known != nullptr) {
        add_holder(vertex);
    } else if (index_.add({{address}, vertex, 0}) != nullptr) {
        vertices_.push_back({address, current_, kind});
    } else {
        return 0;  // no memory
    }
    if (keeps_edges_ && vertices_[current_].kind != Vertex::Kind::kRoot) {
        edges_.emplace_back(current_, vertex);
    }
    return known == nullptr ? vertex : 0;
}

void HeapGraph::add_holder(uint32_t target) {
    if (!vertices_[target].is_target || vertices_[target].parent == current_) {
        return;
    }
    std::vector<uint32_t>& more = more_holders_[target];
    const bool is_known = std::find(more.begin(), more.end(), current_) != more.end();
    if (!is_known && more.size() < kMostHolders) {
        more.push_back(current_);
    }
}

// In the graph of unreached objects, a tensor and its object are one vertex.
uint32_t HeapGraph::add_tensor(uint64_t impl) {
    const auto own = objects_of_tensors_.find(impl);
    return own == objects_of_tensors_.end() ? add(impl, Vertex::Kind::kTensor)
                                            : add(own->second, Vertex::Kind::kObject);
}

bool HeapGraph::add_found(int64_t block, uint32_t vertex) {
    const auto number = static_cast<uint32_t>(block);
    const bool is_wanted = ++found_counts_[number] <= kMostHolders;
    if (is_wanted) {
        found_.push_back({number, vertex});
    }
    return is_wanted;
}

uint32_t HeapGraph::unlisted_count(uint32_t block) const {
    const auto most = static_cast<uint32_t>(kMostHolders);
    return found_counts_[block] - std::min(found_counts_[block], most);
}

int HeapGraph::visit_object(PyObject* object, void* graph) {
    static_cast<HeapGraph*>(graph)->add_object(object);
    return 0;
}

void HeapGraph::add_object(PyObject* object) {
    if (object == nullptr) {
        return;
    }
    const Type& type = type_of(object);
    const bool is_root = vertices_[current_].kind == Vertex::Kind::kRoot;
    // Modules are roots. Objects that the collector does not track hold no tracked objects, except
    // while they are being created.
    if (type.traverse == nullptr || (type.is_module && !is_root) ||
        PyObject_GC_IsTracked(object) == 0) {
        return;
    }
    const uint32_t added = add(reinterpret_cast<uint64_t>(object), Vertex::Kind::kObject);
    if (added != 0 && type.is_later && !keeps_edges_) {
        vertices_[added].is_later = true;
        later_.push_back(added);
    } else if (added != 0 && type.is_tensor) {
        look_at_tensor(added, peakline_tensor_of_object(reinterpret_cast<uint64_t>(object)));
    }
}

void HeapGraph::look_at_tensor(uint32_t index, uint64_t impl) {
    PeaklineTensorFacts facts{};
    if (impl == 0 || peakline_tensor_facts(impl, &facts) == 0) {
        return;
    }
    const int64_t block = block_at(facts.storage);
    if (block >= 0) {
        vertices_[index].is_target = add_found(block, index);
    }
}

int64_t HeapGraph::block_of_tensor(PyObject* object) {
    PeaklineTensorFacts facts{};
    const uint64_t impl = tensor_of_object(object);
    return impl == 0 || peakline_tensor_facts(impl, &facts) == 0 ? -1 : block_at(facts.storage);
}

int64_t HeapGraph::block_at(uint64_t address) const {
    auto after = std::upper_bound(
        blocks_.begin(), blocks_.end(), address, [](uint64_t wanted, const auto& block) {
            return wanted < block.address;
        });
    if (address == 0 || after == blocks_.begin()) {
        return -1;
    }
    --after;
    return address < after->address + std::max<uint64_t>(after->block_bytes, 1)
               ? after - blocks_.begin()
               : -1;
}

const HeapGraph::Type& HeapGraph::type_of(PyObject* object) {
    PyTypeObject* const type = Py_TYPE(object);
    const auto [at, is_new] = types_.try_emplace(type);
    if (is_new && (PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC) != 0) {
        at->second = {reinterpret_cast<Traverse>(PyType_GetSlot(type, Py_tp_traverse)),
                      is_derived(type, tensor_class_),
                      is_derived(type, &PyModule_Type),
                      is_derived(type, optimizer_class_),
                      is_derived(type, context_class_)};
    }
    return at->second;
}

void HeapGraph::expand(uint32_t index) {
    current_ = index;
    ++expanded_count_;
    const Vertex vertex = vertices_[index];
    switch (vertex.kind) {
        case Vertex::Kind::kRoot:
            return;
        case Vertex::Kind::kNode:
            return expand_node(vertex.address);
        case Vertex::Kind::kTensor:
            return expand_tensor(vertex.address);
        case Vertex::Kind::kObject:
            break;
    }
    auto* const object = reinterpret_cast<PyObject*>(vertex.address);
    const Type type = type_of(object);
    type.traverse(object, visit_object, this);
    if (type.is_tensor) {
        expand_tensor(peakline_tensor_of_object(vertex.address));
    } else if (type.is_function_context && knows_tensors_) {
        peakline_visit_saved(vertex.address, basic_size_of(object), visit_saved, this);
    }
}

void HeapGraph::expand_tensor(uint64_t impl) {
    PeaklineTensorFacts facts{};
    if (impl == 0 || peakline_tensor_facts(impl, &facts) == 0) {
        return;
    }
    if (facts.gradient != 0) {
        const uint32_t added = add_tensor(facts.gradient);
        if (added != 0) {
            look_at_tensor(added, facts.gradient);
        }
    }
    if (facts.node != 0) {
        add(facts.node, Vertex::Kind::kNode);
    }
}

void HeapGraph::visit_node(uint64_t node, void* graph) {
    static_cast<HeapGraph*>(graph)->add(node, Vertex::Kind::kNode);
}

void HeapGraph::visit_saved(uint64_t tensor, uint64_t storage, void* pointer) {
    auto& graph = *static_cast<HeapGraph*>(pointer);
    const auto own = graph.objects_of_tensors_.find(tensor);
    if (own != graph.objects_of_tensors_.end()) {
        graph.add(own->second, Vertex::Kind::kObject);
    }
    const int64_t block = graph.block_at(storage);
    if (block >= 0) {
        graph.add_found(block, graph.current_);
    }
}

// Visits the tensor of a node that accumulates its gradient. It is a member for the node's whole
// life, so it may be read. Other nodes may release their saved tensors while another thread runs
// the engine.
void HeapGraph::visit_variable(uint64_t tensor, uint64_t storage, void* pointer) {
    auto& graph = *static_cast<HeapGraph*>(pointer);
    visit_saved(tensor, storage, pointer);
    if (graph.objects_of_tensors_.count(tensor) == 0) {
        graph.add(tensor, Vertex::Kind::kTensor);
    }
}

void HeapGraph::expand_node(uint64_t node) {
    peakline_visit_next_nodes(node, visit_node, this);
    const bool accumulates = name_of_node(node) == kAccumulates;
    peakline_visit_saved(node, 0, accumulates ? visit_variable : visit_saved, this);
    const uint64_t object = peakline_python_object_of(node);
    if (object != 0) {
        add_object(reinterpret_cast<PyObject*>(object));
    }
}

}  // namespace peakline::pyhook
