// Note [Saved tensors]
// Nodes of autograd keep tensors in members of some hundred generated classes, which only Python's
// getters name; those would run hooks of the program (saved_tensors_hooks). So we scan a node's
// memory, as conservative garbage collectors do: a word is a saved tensor if it points to an object
// with the virtual table of a TensorImpl, with references and a storage. We also scan vectors of
// saved tensors. The targets of words are read through the kernel, which refuses unmapped memory:
// another thread may release a saved tensor at any time.
#include "held_graphs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <typeinfo>

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <malloc.h>
#include <sys/uio.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>
#include <unistd.h>

namespace peakline::torch_part {
namespace {

constexpr size_t kMaxNodeBytes = 4096;
constexpr size_t kMaxVectorBytes = size_t{64} * 1024;
constexpr uint64_t kLeastAddress = 1U << 20;
constexpr uint64_t kMostAddress = uint64_t{1} << 47;
constexpr uint64_t kSizeFlags = 7;  // of glibc, in the word before a heap block

// Offsets of torch's members, learnt from the first tensor on a device. 0: not yet.
struct Learnt {
    size_t storage_of_tensor = 0;  // the pointer to the StorageImpl
    size_t data_of_storage = 0;    // its address
};
Learnt g_learnt;
// Offset of the pointer to the TensorImpl in an object of Python; 0: not yet known.
size_t g_impl_of_object = 0;

// The virtual table of c10::TensorImpl, after its two words about the class.
extern "C" const char g_tensor_impl_table[] __asm__("_ZTVN3c1010TensorImplE");
uint64_t tensor_table() {
    return reinterpret_cast<uint64_t>(g_tensor_impl_table) + 2 * sizeof(void*);
}

bool read_words(uint64_t address, uint64_t* words, size_t count) {
    const iovec own{words, count * sizeof(uint64_t)};
    const iovec wanted{reinterpret_cast<void*>(address), count * sizeof(uint64_t)};
    return process_vm_readv(getpid(), &own, 1, &wanted, 1, 0) == static_cast<ssize_t>(own.iov_len);
}

bool may_be_pointer(uint64_t word) {
    return word % alignof(void*) == 0 && word > kLeastAddress && word < kMostAddress;
}

// The offset of the only word of an object that is `value`; 0: none.
size_t offset_of(const void* object, size_t bytes, uint64_t value) {
    for (size_t offset = sizeof(void*); offset + sizeof(value) <= bytes; offset += sizeof(value)) {
        if (memcmp(static_cast<const char*>(object) + offset, &value, sizeof value) == 0) {
            return offset;
        }
    }
    return 0;
}

void learn_from(const c10::TensorImpl& tensor, const c10::StorageImpl& storage) {
    if (g_learnt.data_of_storage != 0) {
        return;
    }
    Learnt learnt;
    learnt.storage_of_tensor =
        offset_of(&tensor, sizeof tensor, reinterpret_cast<uint64_t>(&storage));
    learnt.data_of_storage =
        offset_of(&storage, sizeof storage, reinterpret_cast<uint64_t>(storage.data()));
    if (learnt.storage_of_tensor != 0 && learnt.data_of_storage != 0) {
        g_learnt = learnt;
    }
}

// In a THPVariable it is the first member; in older versions a flag precedes it.
uint64_t impl_of_object(uint64_t object) {
    uint64_t words[4] = {};
    memcpy(words, reinterpret_cast<const void*>(object), sizeof words);
    for (size_t i = 2; i < 4 && g_impl_of_object == 0; ++i) {
        uint64_t table = 0;
        if (may_be_pointer(words[i]) && read_words(words[i], &table, 1) &&
            table == tensor_table()) {
            g_impl_of_object = i * sizeof(uint64_t);
        }
    }
    return g_impl_of_object != 0 ? words[g_impl_of_object / sizeof(uint64_t)] : 0;
}

TensorFacts tensor_facts(uint64_t address) {
    const auto& tensor = *reinterpret_cast<const c10::TensorImpl*>(address);
    TensorFacts facts;
    if (tensor.has_storage()) {
        const c10::Storage& storage = tensor.unsafe_storage();
        facts.storage = reinterpret_cast<uint64_t>(storage.data());
        facts.is_on_device = tensor.is_cuda();
        if (facts.storage != 0 && facts.is_on_device) {
            learn_from(tensor, *storage.unsafeGetStorageImpl());
        }
    }
    const auto* meta = static_cast<const torch::autograd::AutogradMeta*>(tensor.autograd_meta());
    if (meta != nullptr) {
        facts.node = reinterpret_cast<uint64_t>(meta->grad_fn_.get());
        facts.gradient = meta->grad_.defined()
                             ? reinterpret_cast<uint64_t>(meta->grad_.unsafeGetTensorImpl())
                             : 0;
    }
    return facts;
}

void visit_next(const void* node, VisitAddress visit, void* data) {
    for (const torch::autograd::Edge& edge :
         static_cast<const torch::autograd::Node*>(node)->next_edges()) {
        if (edge.is_valid()) {
            visit(reinterpret_cast<uint64_t>(edge.function.get()), data);
        }
    }
}

// The storage of the tensor at this address; 0: none.
uint64_t storage_of_saved(uint64_t address) {
    uint64_t head[2] = {};  // virtual table, references
    uint64_t storage = 0;
    uint64_t data = 0;
    const bool is_tensor = read_words(address, head, 2) && head[0] == tensor_table() &&
                           static_cast<uint32_t>(head[1]) != 0;
    const bool has_data =
        is_tensor && read_words(address + g_learnt.storage_of_tensor, &storage, 1) &&
        may_be_pointer(storage) && read_words(storage + g_learnt.data_of_storage, &data, 1);
    return has_data ? data : 0;
}

void visit_words(const uint64_t* words, size_t count, VisitSaved visit, void* data) {
    uint64_t last = 0;
    for (size_t i = 0; i < count; ++i) {
        if (words[i] != last && may_be_pointer(words[i])) {
            last = words[i];
            if (const uint64_t storage = storage_of_saved(words[i])) {
                visit(words[i], storage, data);
            }
        }
    }
}

// Whether this malloc keeps the size of a heap block in the word before it, like glibc's.
bool malloc_writes_sizes() {
    static const bool writes = [] {
        constexpr size_t kProbeBytes = 200;
        auto* const piece = static_cast<uint64_t*>(malloc(kProbeBytes));  // kept: runs once
        uint64_t size = 0;
        return piece != nullptr && read_words(reinterpret_cast<uint64_t>(piece - 1), &size, 1) &&
               (size & ~kSizeFlags) == malloc_usable_size(piece) + sizeof size;
    }();
    return writes;
}

// Whether a vector with room for so many bytes may begin here: it must fill a heap block alone.
// Three neighbouring words are often increasing addresses of other objects, with other tensors
// between them.
bool may_begin_vector(uint64_t begin, size_t room_bytes) {
    constexpr size_t kPieceStep = 16;
    uint64_t size = 0;
    if (!malloc_writes_sizes()) {
        return true;
    }
    const size_t least = std::max<size_t>(room_bytes + sizeof size, 2 * kPieceStep);
    return begin % kPieceStep == 0 && read_words(begin - sizeof size, &size, 1) &&
           (size & ~kSizeFlags) >= least && (size & ~kSizeFlags) < least + 2 * kPieceStep;
}

// `words`: begin, end and end of the capacity, if this is a std::vector.
void visit_vector(const uint64_t* words, VisitSaved visit, void* data) {
    const size_t bytes = words[1] - words[0];
    if (!may_be_pointer(words[0]) || words[1] <= words[0] || words[2] < words[1] ||
        bytes > kMaxVectorBytes || bytes % sizeof(uint64_t) != 0 ||
        !may_begin_vector(words[0], words[2] - words[0])) {
        return;
    }
    uint64_t items[64];
    constexpr size_t kAtOnce = sizeof items / sizeof *items;
    for (size_t done = 0; done < bytes / sizeof *items; done += kAtOnce) {
        const size_t count = std::min(kAtOnce, bytes / sizeof *items - done);
        if (!read_words(words[0] + done * sizeof *items, items, count)) {
            return;
        }
        visit_words(items, count, visit, data);
    }
}

// The address of a node, and its bytes according to malloc.
struct NodeMemory {
    uint64_t begin;
    size_t bytes;
};

// In torch 2.11 and before, a node belongs to a std::shared_ptr, which it names after its virtual
// table: made by std::make_shared, it follows its counts in one heap block.
NodeMemory memory_of(const torch::autograd::Node& node) {
    constexpr size_t kCountsBytes = 2 * sizeof(void*);  // of libstdc++
    const auto begin = reinterpret_cast<uint64_t>(dynamic_cast<const void*>(&node));
    uint64_t head[3] = {};
    memcpy(head, reinterpret_cast<const void*>(&node), sizeof head);
    const bool is_behind =
        head[1] == reinterpret_cast<uint64_t>(&node) && head[2] == begin - kCountsBytes;
    const uint64_t piece = is_behind ? head[2] : begin;
    return {begin, malloc_usable_size(reinterpret_cast<void*>(piece)) - (begin - piece)};
}

// `bytes` of 0: `memory` is a node.
void visit_saved(const void* memory, size_t bytes, VisitSaved visit, void* data) {
    const NodeMemory scanned = bytes != 0
                                   ? NodeMemory{reinterpret_cast<uint64_t>(memory), bytes}
                                   : memory_of(*static_cast<const torch::autograd::Node*>(memory));
    if (g_learnt.data_of_storage == 0 || scanned.bytes > kMaxNodeBytes) {
        return;  // not a node of torch
    }
    uint64_t words[kMaxNodeBytes / sizeof(uint64_t)];
    const size_t count = scanned.bytes / sizeof(uint64_t);
    if (!read_words(scanned.begin, words, count)) {
        return;
    }
    visit_words(words, count, visit, data);
    for (size_t i = 0; i + 2 < count; ++i) {
        visit_vector(words + i, visit, data);
    }
}

// Whether these words begin a Python object: the chain of its types ends at one that is its own
// type.
bool is_python_object(const uint64_t* words) {
    constexpr size_t kMostMetaclasses = 8;
    uint64_t type = words[1];
    for (size_t i = 0; i < kMostMetaclasses; ++i) {
        uint64_t head[2] = {};
        if (!may_be_pointer(type) || !read_words(type, head, 2)) {
            return false;
        }
        if (head[1] == type) {
            return true;
        }
        type = head[1];
    }
    return false;
}

// The Python object of a node written in Python, found among the node's members: it refers back to
// the node. 0: another kind of node.
uint64_t python_object_of(const void* node) {
    constexpr size_t kObjectWords = 40;
    const auto& known = *static_cast<const torch::autograd::Node*>(node);
    if (strcmp(typeid(known).name(), "N5torch8autograd6PyNodeE") != 0) {
        return 0;
    }
    const NodeMemory memory = memory_of(known);
    const size_t count = memory.bytes / sizeof(uint64_t);
    uint64_t words[kMaxNodeBytes / sizeof(uint64_t)];
    if (count > std::size(words) || !read_words(memory.begin, words, count)) {
        return 0;
    }
    for (size_t i = 2; i < count; ++i) {
        uint64_t object[kObjectWords];
        const bool is_readable =
            may_be_pointer(words[i]) && read_words(words[i], object, kObjectWords);
        if (is_readable &&
            std::find(object + 2, object + kObjectWords, reinterpret_cast<uint64_t>(node)) !=
                object + kObjectWords &&
            words[i] != reinterpret_cast<uint64_t>(node) && is_python_object(object)) {
            return words[i];
        }
    }
    return 0;
}

}  // namespace

void offer_held_graphs(Part* part) {
    part->impl_of_object = impl_of_object;
    part->tensor_facts = tensor_facts;
    part->visit_next = visit_next;
    part->visit_saved = visit_saved;
    part->python_object_of = python_object_of;
}

}  // namespace peakline::torch_part
