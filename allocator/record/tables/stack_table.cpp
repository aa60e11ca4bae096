#include "stack_table.h"

#define XXH_INLINE_ALL
#include <algorithm>
#include <cstring>

#include <xxhash.h>

namespace peakline::record {
namespace {

constexpr size_t kMaxStringBytes = 4096;  // longer names are cut
constexpr size_t kStringArenaBytes = size_t{1} << 30;
constexpr size_t kRecordCapacity = size_t{1} << 24;
constexpr size_t kContextCacheCapacity = size_t{1} << 16;
constexpr size_t kMaxJoinedFrames = 1024;  // a deeper inner stack keeps its innermost ones

}  // namespace

bool StackTable::init() {
    return string_bytes_.reserve(kStringArenaBytes) && strings_.init(kRecordCapacity) &&
           python_frames_.init(kRecordCapacity) && python_nodes_.init(kRecordCapacity) &&
           modules_.init(kRecordCapacity) && native_frames_.init(kRecordCapacity) &&
           native_nodes_.init(kRecordCapacity) && threads_.reserve(kRecordCapacity) &&
           streams_.init(kRecordCapacity) && contexts_.init(kRecordCapacity) &&
           instances_.reserve(kRecordCapacity) && tensors_.init(kRecordCapacity) &&
           tensor_types_.init(kRecordCapacity) && context_cache_.init(kContextCacheCapacity) &&
           joined_cache_.init(kContextCacheCapacity);
}

// Records have no padding (unused fields are 0), so their bytes are their identity.
template <class Record>
uint32_t StackTable::intern(Kind<Record>& kind, const Record& record) {
    const uint64_t hash = XXH3_64bits(&record, sizeof record);
    const LockGuard guard(lock_);
    const uint32_t known = kind.index.find(hash, [&](uint32_t id) {
        return std::memcmp(&kind.records[id - 1], &record, sizeof record) == 0;
    });
    if (known != 0) {
        return known;
    }
    const auto id = static_cast<uint32_t>(kind.size() + 1);
    if (kind.size() == kind.records.capacity() || !kind.index.add(hash, id)) {
        ++full_count_;
        return 0;
    }
    kind.records.push(record);
    return id;
}

uint32_t StackTable::intern_string(const char* bytes, size_t length) {
    return intern_bytes(strings_, bytes, std::min(length, kMaxStringBytes));
}

uint32_t StackTable::intern_bytes(Kind<String>& kind, const char* bytes, size_t length) {
    const uint64_t hash = XXH3_64bits(bytes, length);
    const LockGuard guard(lock_);
    const uint32_t known = kind.index.find(hash, [&](uint32_t id) {
        const String& string = kind.records[id - 1];
        return string.length == length &&
               std::memcmp(string_bytes_.data() + string.offset, bytes, length) == 0;
    });
    if (known != 0) {
        return known;
    }
    const size_t offset = string_bytes_.size();
    const auto id = static_cast<uint32_t>(kind.size() + 1);
    if (kind.size() == kind.records.capacity() ||
        !string_bytes_.resize_untouched(offset + length) || !kind.index.add(hash, id)) {
        ++full_count_;
        return 0;
    }
    std::memcpy(string_bytes_.data() + offset, bytes, length);
    kind.records.push(String{offset, static_cast<uint32_t>(length), 0});
    return id;
}

uint32_t StackTable::intern_python_frame(
    uint32_t file, uint32_t name, uint32_t qualified_name, uint32_t line, uint32_t instance) {
    return intern(python_frames_, PythonFrame{file, name, qualified_name, line, instance});
}

uint32_t StackTable::intern_python_node(uint32_t parent, uint32_t frame) {
    return intern(python_nodes_, StackNode{parent, frame});
}

uint32_t StackTable::join_python_stacks_slow(uint32_t outer, uint32_t inner, uint32_t inner_root) {
    uint32_t frames[kMaxJoinedFrames];
    size_t count = 0;
    {
        const LockGuard guard(lock_);
        while (inner != 0 && inner != inner_root && count < kMaxJoinedFrames) {
            frames[count++] = python_nodes_.records[inner - 1].frame;
            inner = python_nodes_.records[inner - 1].parent;
        }
    }
    uint32_t node = outer;
    for (; count > 0; --count) {
        node = intern_python_node(node, frames[count - 1]);
        if (node == 0) {
            return 0;
        }
    }
    return node;
}

uint32_t StackTable::join_python_stacks(uint32_t outer, uint32_t inner, uint32_t inner_root) {
    const uint32_t key[] = {outer, inner, inner_root};
    const XXH128_hash_t hash = XXH3_128bits(key, sizeof key);
    uint32_t id = joined_cache_.find(hash.low64, hash.high64);
    if (id == 0) {
        id = join_python_stacks_slow(outer, inner, inner_root);
        if (id != 0) {
            joined_cache_.insert(hash.low64, hash.high64, id);
        }
    }
    return id;
}

uint32_t StackTable::intern_module(const Module& module) {
    return intern(modules_, module);
}

uint32_t StackTable::intern_native_frame(uint32_t module, uint64_t offset) {
    return intern(native_frames_, NativeFrame{offset, module, 0});
}

uint32_t StackTable::intern_native_node(uint32_t parent, uint32_t frame) {
    return intern(native_nodes_, StackNode{parent, frame});
}

uint32_t StackTable::add_thread(uint32_t kernel_thread_id, const char* name, size_t name_length) {
    const uint32_t name_id = intern_string(name, name_length);
    const LockGuard guard(lock_);
    if (!threads_.push(Thread{kernel_thread_id, name_id})) {
        ++full_count_;
        return 0;
    }
    return static_cast<uint32_t>(threads_.size());
}

uint32_t StackTable::intern_stream(uint64_t handle) {
    return handle == 0 ? 0 : intern(streams_, format::Stream{handle});
}

uint32_t StackTable::intern_context(const Context& context) {
    const XXH128_hash_t hash = XXH3_128bits(&context, sizeof context);
    uint32_t id = context_cache_.find(hash.low64, hash.high64);
    if (id == 0) {
        id = intern(contexts_, context);
        if (id != 0) {
            context_cache_.insert(hash.low64, hash.high64, id);
        }
    }
    return id;
}

void StackTable::report_instance(const Instance& instance) {
    const LockGuard guard(lock_);
    if (!instances_.push(instance)) {
        ++full_count_;
    }
}

uint32_t StackTable::intern_tensor(const Tensor& tensor) {
    return intern(tensors_, tensor);
}

uint32_t StackTable::intern_tensor_type(const char* dtype,
                                        const int64_t* sizes,
                                        size_t size_count) {
    unsigned char body[(1 + format::kMaxDimensions) * format::kMaxVarintBytes];
    if (size_count > format::kMaxDimensions) {
        return 0;
    }
    const uint32_t name = intern_text(dtype);
    if (name == 0) {
        return 0;
    }
    unsigned char* end = format::put_uv(body, name);
    for (size_t i = 0; i < size_count; ++i) {
        end = format::put_uv(end, static_cast<uint64_t>(sizes[i]));
    }
    return intern_bytes(
        tensor_types_, reinterpret_cast<const char*>(body), static_cast<size_t>(end - body));
}

template <class Visit>
auto StackTable::visit_table(format::DefType type, Visit visit) const {
    using format::DefType;
    switch (type) {
        case DefType::kPythonFrame:
            return visit(python_frames_.records);
        case DefType::kPythonNode:
            return visit(python_nodes_.records);
        case DefType::kModule:
            return visit(modules_.records);
        case DefType::kNativeFrame:
            return visit(native_frames_.records);
        case DefType::kNativeNode:
            return visit(native_nodes_.records);
        case DefType::kThread:
            return visit(threads_);
        case DefType::kStream:
            return visit(streams_.records);
        case DefType::kContext:
            return visit(contexts_.records);
        case DefType::kInstance:
            return visit(instances_);
        case DefType::kTensor:
            return visit(tensors_.records);
        default:  // bodies of other lengths; the writer keeps those without a table itself
            return visit(MappedArray<StackNode>());
    }
}

size_t StackTable::definition_count(format::DefType type) const {
    if (type == format::DefType::kString) {
        return strings_.size();
    }
    if (type == format::DefType::kTensorType) {
        return tensor_types_.size();
    }
    return visit_table(type, [](const auto& records) { return records.size(); });
}

// Call it with lock_ held. trace_format.h defines the bodies; the longest is a string.
size_t StackTable::encode(format::DefType type,
                          uint32_t id,
                          unsigned char* out,
                          size_t room) const {
    using format::DefType;
    const auto put_bytes = [&](unsigned char* to, const String& string) {
        const size_t length = std::min<size_t>(string.length, room - 64);
        std::memcpy(to, string_bytes_.data() + string.offset, length);
        return to + length;
    };
    const bool has_own_id = type == DefType::kTensor || type == DefType::kTensorType;
    unsigned char* end = has_own_id ? format::put_uv(out, id) : out;
    if (type == DefType::kString || type == DefType::kTensorType) {
        const Kind<String>& kind = type == DefType::kString ? strings_ : tensor_types_;
        end = put_bytes(end, kind.records[id - 1]);
    } else {
        end = visit_table(
            type, [&](const auto& records) { return format::put_fields(end, records[id - 1]); });
    }
    if (type == DefType::kModule && modules_.records[id - 1].build_id != 0) {
        end = put_bytes(end, strings_.records[modules_.records[id - 1].build_id - 1]);
    }
    return static_cast<size_t>(end - out);
}

void StackTable::prepare_fork() {
    context_cache_.prepare_fork();
    joined_cache_.prepare_fork();
    lock_.lock();
}
void StackTable::parent_after_fork() {
    lock_.unlock();
    joined_cache_.parent_after_fork();
    context_cache_.parent_after_fork();
}
void StackTable::child_after_fork() {
    lock_.reset_after_fork();
    joined_cache_.child_after_fork();
    context_cache_.child_after_fork();
}

}  // namespace peakline::record
