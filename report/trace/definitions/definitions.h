// Everything the DEFS chunks define, by id: strings, frames, stacks, contexts, allocation classes
// and the facts about the run. Read completely before the first event. Ids count from 1; id 0 and
// ids out of range give an empty definition, never a fault.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "report/trace/file/byte_source.h"
#include "report/trace/file/chunk_index.h"
#include "report/trace/file/problems.h"

namespace peakline::report {

using format::Context;
using format::Instance;
using format::NativeFrame;
using format::PythonFrame;
using format::StackNode;  // `parent` is always smaller than the node's own id: no cycles
using format::Tensor;
using format::Thread;

struct Module : format::Module {
    std::string build_id_bytes;
};

// Where the line of memory comes from that compiled code allocated; see compiled_code.h.
enum class LineSource : uint8_t {
    kRecorded,       // the stack itself: no compiled code, or nothing is known of it
    kCompiled,       // the line of the model that made the value
    kLastOfSeveral,  // the kernel fuses several lines, and only the last one is known
    kStale,          // unknown: the code is from a cache of another version of its file
};

struct CompiledMemory {
    LineSource source = LineSource::kRecorded;
    std::string operators;  // fused into the kernel: "aten.gelu, aten.mul"; empty: unknown
};

struct TensorBlock {
    uint64_t ordinal = 0;  // ordinal of the allocation
    uint32_t tensor = 0;
};

// Shape and dtype of a tensor that lies in a block; see Note [Tensor types].
struct TensorType {
    uint32_t dtype = 0;  // a string id: "bfloat16"; 0: unknown
    std::vector<uint64_t> shape;
};
struct BlockType {
    uint64_t ordinal = 0;  // ordinal of the allocation
    uint32_t type = 0;
};

// An argument of a module's first call; see Note [Inputs of modules].
struct ModuleInput {
    uint64_t ordinal = 0;  // ordinal of the allocation
    uint32_t instance = 0;
};

// A holder of a block that a search found; see Note [Holders].
struct BlockHolder : format::Holder {
    std::string text;
};

// The fixed properties of an allocation, without its address and time.
struct AllocationShape {
    uint64_t requested_bytes = 0;
    uint64_t block_bytes = 0;
    uint32_t context = 0;
    uint32_t stream = 0;
    uint32_t device = 0;
    bool untraced = false;  // made while tracing was off: not part of the total allocated
    bool lost = false;      // its definition is lost: size and context are unknown
};

// A larger size is damage. The limit also keeps sums over a hostile trace far from overflow.
inline constexpr uint64_t kMaxBlockBytes = uint64_t{1} << 48;
inline constexpr uint32_t kMaxDevices = 256;

// Sets sizes and device of an alloc record; false when they are out of bounds.
bool set_shape(AllocationShape* shape, uint64_t device, uint64_t requested, int64_t rounding);

// Definitions of one type by id.
template <class T>
class ById {
public:
    uint32_t add(const T& item) {
        items_.push_back(item);
        return count();
    }
    const T& operator[](uint32_t id) const {
        return id - 1 < items_.size() ? items_[id - 1] : none_;
    }
    // Adds `item` until `count` ids exist. Existing ids keep their definitions.
    void fill(uint32_t count, const T& item) {
        if (count > items_.size()) {
            items_.resize(count, item);
        }
    }
    bool has(uint32_t id) const { return id <= items_.size(); }
    uint32_t count() const { return static_cast<uint32_t>(items_.size()); }
    typename std::vector<T>::iterator begin() { return items_.begin(); }
    typename std::vector<T>::iterator end() { return items_.end(); }
    const std::vector<T>& items() const { return items_; }

private:
    std::vector<T> items_;
    T none_ = {};
};

struct Definitions {
    ById<std::string> strings;
    ById<PythonFrame> python_frames;
    ById<StackNode> python_nodes;
    ById<Module> modules;
    ById<NativeFrame> native_frames;
    ById<StackNode> native_nodes;
    ById<Thread> threads;
    ById<uint64_t> streams;
    ById<Context> contexts;
    ById<AllocationShape> classes;
    std::vector<Instance> instances;            // by id, see instance()
    std::vector<Tensor> tensors;                // by id, see tensor()
    std::vector<TensorBlock> tensor_blocks;     // by ordinal
    std::vector<TensorType> tensor_types;       // by id, see tensor_type()
    std::vector<BlockType> block_types;         // by ordinal
    std::vector<ModuleInput> module_inputs;     // in the order they were written
    std::map<uint32_t, uint32_t> context_tags;  // string ids by context
    std::vector<format::HolderSearch> holder_searches;
    std::vector<BlockHolder> holders;  // in the order they were written
    std::map<std::string, std::string> meta;
    std::map<uint32_t, CompiledMemory> compiled;  // by context
    // String ids of files with frames that only lie between a line of the model and its memory.
    std::set<uint32_t> passing_files;
    // Ids of the lost definitions; 0 when nothing is lost.
    uint32_t lost_string = 0;
    uint32_t lost_node = 0;
    uint32_t lost_thread = 0;
    uint32_t lost_stream = 0;
    uint32_t lost_context = 0;

    // Returns the id itself if it is defined, else the id of the lost context.
    uint32_t known_context(uint32_t context_id) const {
        return contexts.has(context_id) ? context_id : lost_context;
    }
    // An undefined stream keeps its id if no stream was lost: reports call it unknown, and 0 is the
    // default stream.
    uint32_t known_stream(uint32_t stream_id) const {
        return streams.has(stream_id) || lost_stream == 0 ? stream_id : lost_stream;
    }
    std::string_view text(uint32_t string_id) const { return strings[string_id]; }
    // Whether the context, or its Python stack, was lost with a damaged chunk or never defined.
    bool is_lost(uint32_t context_id) const {
        return !contexts.has(context_id) ||
               (lost_node != 0 && contexts[context_id].python_node == lost_node);
    }
    bool is_untraced(uint32_t context_id) const {
        return (contexts[context_id].flags & format::kUntraced) != 0;
    }
    const Instance& instance(uint32_t id) const;
    const Tensor& tensor(uint32_t id) const;
    // The tensor that owns this allocation's storage; 0: none was reported.
    uint32_t tensor_of(uint64_t ordinal) const;
    const TensorType& tensor_type(uint32_t id) const;
    // Shape and dtype of the tensor in this allocation; 0: unknown.
    uint32_t type_of(uint64_t ordinal) const;
    // Empty if the program set no tag.
    std::string_view tag_of(uint32_t context_id) const;
    // Empty when the recorder did not write the key.
    std::string_view meta_text(const std::string& key) const;
};

inline constexpr const char* kLostName = "lost definition";
inline constexpr uint64_t kLostStream = UINT64_MAX;

// Reads all DEFS chunks. The definitions of an unreadable chunk become explicit lost definitions,
// and a problem reports it; the headers of later chunks state the ids they begin with.
Definitions read_definitions(const ByteSource& source,
                             const std::vector<ChunkEntry>& chunks,
                             Problems& problems);

}  // namespace peakline::report
