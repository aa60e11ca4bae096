// Gives equal things one id: strings, frames, stack nodes, modules, threads, streams, contexts.
// Ids count from 1 within a kind, in the order of first sight. The trace defines them in the same
// order (trace_format.h, DEFS payload). 0 means none, or that the table is full.
// Any thread may call any function; one leaf lock inside. Nothing is ever removed: a training
// loop has 10^3 to 10^4 stacks, and a full table only loses detail, never a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocator/record/format/trace_format.h"
#include "id_index.h"
#include "leaf_lock.h"
#include "mapped_array.h"
#include "raw_stack_cache.h"

namespace peakline::record {

using format::Context;
using format::Instance;
using format::Module;
using format::NativeFrame;
using format::PythonFrame;
using format::StackNode;
using format::Tensor;
using format::Thread;

class StackTable {
public:
    // False when memory cannot be mapped.
    bool init();
    // True after init(), but not in a child of fork: Note [Forks that nobody hears of].
    bool is_ready() const { return strings_.records.data() != nullptr; }

    uint32_t intern_string(const char* bytes, size_t length);
    // `text` ends with a zero byte; 0 for null.
    uint32_t intern_text(const char* text) {
        return text == nullptr ? 0 : intern_string(text, std::strlen(text));
    }
    uint32_t intern_python_frame(uint32_t file,
                                 uint32_t name,
                                 uint32_t qualified_name,
                                 uint32_t line,
                                 uint32_t instance = 0);
    uint32_t intern_python_node(uint32_t parent, uint32_t frame);
    // The stack of the frames of `inner`, up to `inner_root` and without it, called by those of
    // `outer`. 0 if the table is full.
    [[gnu::noinline]] uint32_t join_python_stacks(uint32_t outer,
                                                  uint32_t inner,
                                                  uint32_t inner_root);
    uint32_t intern_module(const Module& module);
    uint32_t intern_native_frame(uint32_t module, uint64_t offset);
    uint32_t intern_native_node(uint32_t parent, uint32_t frame);
    uint32_t add_thread(uint32_t kernel_thread_id, const char* name, size_t name_length);
    // Handle 0, the default stream, has id 0.
    [[gnu::noinline]] uint32_t intern_stream(uint64_t handle);
    uint32_t intern_context(const Context& context);
    // Adds a newer definition of an instance; earlier ones stay in the trace.
    void report_instance(const Instance& instance);
    uint32_t intern_tensor(const Tensor& tensor);
    // Also 0 for more than kMaxDimensions.
    uint32_t intern_tensor_type(const char* dtype, const int64_t* sizes, size_t size_count);

    // Calls `visit(file, file_length, name, name_length, line)` for each frame from leaf to root
    // until it returns false. `visit` runs under the lock: it must not call the table.
    template <class Visit>
    void visit_python_stack(uint32_t node, Visit visit);

    // Writes the bodies of all definitions of `type` with ids above `*emitted` through
    // `write(DefType, body, length)`, and advances `*emitted`. For the trace writer; call it in the
    // order of DefType, so that the names in a body are defined before it.
    template <class Write>
    void emit(format::DefType type, uint32_t* emitted, Write write);

    uint64_t full_count() const { return full_count_; }

    // False: this thread was interrupted during a change of the table, see
    // LeafLock::lock_patiently().
    bool may_lock() {
        const bool is_locked = lock_.lock_patiently();
        if (is_locked) {
            lock_.unlock();
        }
        return is_locked;
    }

    void prepare_fork();
    void parent_after_fork();
    void child_after_fork();

private:
    struct String {
        uint64_t offset;
        uint32_t length;
        uint32_t unused;
    };
    // Records of one kind with their index. Guarded by lock_.
    template <class Record>
    struct Kind {
        MappedArray<Record> records;
        IdIndex index;
        bool init(size_t capacity) { return records.reserve(capacity) && index.init(); }
        size_t size() const { return records.size(); }
    };
    template <class Record>
    uint32_t intern(Kind<Record>& kind, const Record& record);
    uint32_t intern_bytes(Kind<String>& kind, const char* bytes, size_t length);
    uint32_t join_python_stacks_slow(uint32_t outer, uint32_t inner, uint32_t inner_root);
    // Calls visit(records) with the table of this type; visit(no records) for other types.
    template <class Visit>
    auto visit_table(format::DefType type, Visit visit) const;
    size_t definition_count(format::DefType type) const;
    size_t encode(format::DefType type, uint32_t id, unsigned char* out, size_t room) const;

    LeafLock lock_;
    MappedArray<char> string_bytes_;
    Kind<String> strings_;
    Kind<PythonFrame> python_frames_;
    Kind<StackNode> python_nodes_;
    Kind<Module> modules_;
    Kind<NativeFrame> native_frames_;
    Kind<StackNode> native_nodes_;
    MappedArray<Thread> threads_;
    Kind<format::Stream> streams_;
    Kind<Context> contexts_;
    MappedArray<Instance> instances_;
    Kind<Tensor> tensors_;
    Kind<String> tensor_types_;  // the bytes after the id in a definition
    RawStackCache context_cache_;
    RawStackCache joined_cache_;  // of join_python_stacks
    uint64_t full_count_ = 0;     // Guarded by lock_.
};

template <class Visit>
void StackTable::visit_python_stack(uint32_t node, Visit visit) {
    const LockGuard guard(lock_);
    const auto text = [this](uint32_t id) {
        return id != 0 ? string_bytes_.data() + strings_.records[id - 1].offset : "";
    };
    const auto length = [this](uint32_t id) {
        return id != 0 ? strings_.records[id - 1].length : uint32_t{0};
    };
    bool goes_on = true;
    while (node != 0 && goes_on) {
        const StackNode& at = python_nodes_.records[node - 1];
        if (at.frame != 0) {
            const PythonFrame& frame = python_frames_.records[at.frame - 1];
            goes_on = visit(text(frame.file),
                            length(frame.file),
                            text(frame.name),
                            length(frame.name),
                            frame.line);
        }
        node = at.parent;
    }
}

inline constexpr size_t kMaxDefinitionBytes = 8192;

template <class Write>
void StackTable::emit(format::DefType type, uint32_t* emitted, Write write) {
    unsigned char body[kMaxDefinitionBytes];
    for (;;) {
        size_t length = 0;
        {
            const LockGuard guard(lock_);
            if (*emitted >= definition_count(type)) {
                return;
            }
            length = encode(type, *emitted + 1, body, sizeof body);
        }
        if (!write(type, body, length)) {
            return;
        }
        ++*emitted;
    }
}

}  // namespace peakline::record
