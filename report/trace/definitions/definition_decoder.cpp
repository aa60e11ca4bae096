// Decodes records into definitions; definition_checks.cpp checks the ids in them.
#include "definition_decoder.h"

namespace peakline::report {
namespace {

constexpr uint32_t kLost = UINT32_MAX;
// The recorder's tables hold no more. A hostile header must not make us fill the memory.
constexpr uint32_t kMaxIds = 1U << 22;
constexpr uint16_t kMaxStackDepth = 1024;

}  // namespace

using format::DefType;

std::array<uint32_t, format::kDefTypeCount> DefinitionDecoder::counts() const {
    return {0,
            out_.strings.count(),
            out_.python_frames.count(),
            out_.python_nodes.count(),
            out_.modules.count(),
            out_.native_frames.count(),
            out_.native_nodes.count(),
            out_.threads.count(),
            out_.streams.count(),
            out_.contexts.count(),
            out_.classes.count(),
            0};
}

bool DefinitionDecoder::begin_chunk(const format::ChunkHeader& header) {
    const auto known = counts();
    const uint32_t* const first = header.first_ids;
    constexpr auto kFirstType = static_cast<size_t>(DefType::kString);
    constexpr auto kLastType = static_cast<size_t>(DefType::kClass);
    for (size_t type = kFirstType; type <= kLastType; ++type) {
        const bool follows = first[type] == known[type] + 1;
        const bool skips = after_loss_ && first[type] > known[type] && first[type] <= kMaxIds;
        if (!follows && !skips) {
            return false;
        }
        lost_count_ += first[type] - 1 - known[type];
    }
    const auto before = [first](DefType type) { return first[static_cast<size_t>(type)] - 1; };
    out_.strings.fill(before(DefType::kString), kLostName);
    Module lost_module{};
    lost_module.path = kLost;
    out_.python_frames.fill(before(DefType::kPythonFrame), {kLost, 0, 0, 0, 0});
    out_.python_nodes.fill(before(DefType::kPythonNode), {0, kLost});
    out_.modules.fill(before(DefType::kModule), lost_module);
    out_.native_frames.fill(before(DefType::kNativeFrame), {0, kLost, 0});
    out_.native_nodes.fill(before(DefType::kNativeNode), {0, kLost});
    out_.threads.fill(before(DefType::kThread), {0, kLost});
    out_.streams.fill(before(DefType::kStream), kLostStream);
    out_.contexts.fill(before(DefType::kContext), {kLost, kLost, kLost, 0, 0, 0});
    AllocationShape lost_shape;
    lost_shape.lost = true;
    out_.classes.fill(before(DefType::kClass), lost_shape);
    after_loss_ = false;
    return true;
}

void DefinitionDecoder::decode(const TypedRecord& record) {
    FieldCursor cursor(record.body);
    switch (static_cast<DefType>(record.type)) {
        case DefType::kString:
            out_.strings.add(std::string(cursor.rest()));
            return;
        case DefType::kPythonFrame:
            return decode_numbers(out_.python_frames, cursor);
        case DefType::kPythonNode:
            return decode_node(out_.python_nodes, python_depths_, cursor);
        case DefType::kModule:
            return decode_module(cursor);
        case DefType::kNativeFrame:
            return decode_numbers(out_.native_frames, cursor);
        case DefType::kNativeNode:
            return decode_node(out_.native_nodes, native_depths_, cursor);
        case DefType::kThread:
            return decode_numbers(out_.threads, cursor);
        case DefType::kStream: {
            const uint64_t handle = cursor.definition<format::Stream>().handle;
            return keep(out_.streams, cursor, handle);
        }
        case DefType::kContext:
            return decode_numbers(out_.contexts, cursor);
        case DefType::kClass:
            return decode_class(cursor);
        case DefType::kMeta:
            return decode_meta(cursor);
        case DefType::kInstance:
            return decode_instance(cursor);
        case DefType::kTensor:
            return decode_tensor(cursor);
        case DefType::kTensorBlocks:
            return decode_blocks(out_.tensor_blocks, cursor);
        case DefType::kHolderSearch:
            return decode_holder_search(cursor);
        case DefType::kHolder:
            return decode_holder(cursor);
        case DefType::kTensorType:
            return decode_tensor_type(cursor);
        case DefType::kBlockTypes:
            return decode_blocks(out_.block_types, cursor);
        case DefType::kContextTag:
            return decode_context_tag(cursor);
        case DefType::kModuleInputs:
            return decode_blocks(out_.module_inputs, cursor);
    }
    // A type of a newer minor version is skipped by its length.
}

template <class T>
void DefinitionDecoder::decode_numbers(ById<T>& table, FieldCursor cursor) {
    const T item = cursor.definition<T>();
    keep(table, cursor, item);
}

// A node is deeper than its parent by one. A stack deeper than the recorder writes is hostile.
void DefinitionDecoder::decode_node(ById<StackNode>& nodes,
                                    std::vector<uint16_t>& depths,
                                    FieldCursor cursor) {
    auto node = cursor.definition<StackNode>();
    if (node.parent > nodes.count()) {
        cursor.good = false;
    }
    depths.resize(nodes.count() + size_t{2});
    const uint16_t above = cursor.good ? depths[node.parent] : uint16_t{0};
    if (above >= kMaxStackDepth) {
        node.parent = 0;
        ++faulty_count_;
    }
    depths[nodes.count() + size_t{1}] = static_cast<uint16_t>(node.parent == 0 ? 1 : above + 1);
    keep(nodes, cursor, node);
}

void DefinitionDecoder::decode_module(FieldCursor cursor) {
    Module module{cursor.definition<format::Module>(), {}};
    module.build_id_bytes = std::string(cursor.rest());
    keep(out_.modules, cursor, module);
}

void DefinitionDecoder::decode_class(FieldCursor cursor) {
    AllocationShape shape;
    shape.context = cursor.uv32();
    const uint64_t device = cursor.uv();
    shape.stream = cursor.uv32();
    const uint64_t requested = cursor.uv();
    const int64_t rounding = cursor.zz();
    if (!set_shape(&shape, device, requested, rounding)) {
        cursor.good = false;
    }
    keep(out_.classes, cursor, shape);
}

void DefinitionDecoder::decode_meta(FieldCursor cursor) {
    const std::string key(cursor.bytes(cursor.uv()));
    const std::string value(cursor.rest());
    if (cursor.good) {
        out_.meta[key] = value;
    } else {
        ++faulty_count_;
    }
}

// Keeps definitions that carry their own id.
template <class T>
void DefinitionDecoder::keep_at(std::vector<T>& table,
                                uint32_t id,
                                const FieldCursor& cursor,
                                const T& item) {
    if (!cursor.good || id == 0 || id > kMaxIds) {
        ++faulty_count_;
        return;
    }
    if (id > table.size()) {
        table.resize(id);
    }
    table[id - 1] = item;
}

void DefinitionDecoder::decode_instance(FieldCursor cursor) {
    const auto instance = cursor.definition<Instance>();
    keep_at(out_.instances, instance.instance, cursor, instance);
}

void DefinitionDecoder::decode_tensor(FieldCursor cursor) {
    const uint32_t id = cursor.uv32();
    const auto tensor = cursor.definition<Tensor>();
    const auto kind = static_cast<uint32_t>(tensor.kind);
    // This reader cannot name a kind of a newer minor version.
    if (kind != 0 && kind <= format::kLastTensorKind) {
        keep_at(out_.tensors, id, cursor, tensor);
    }
}

void DefinitionDecoder::decode_tensor_type(FieldCursor cursor) {
    const uint32_t id = cursor.uv32();
    TensorType type;
    type.dtype = cursor.uv32();
    while (cursor.good && cursor.at < cursor.end) {
        type.shape.push_back(cursor.uv());
        // torch stores sizes as signed numbers.
        const bool is_possible = type.shape.size() <= format::kMaxDimensions &&
                                 type.shape.back() <= static_cast<uint64_t>(INT64_MAX);
        cursor.good = cursor.good && is_possible;
    }
    keep_at(out_.tensor_types, id, cursor, type);
}

template <class Block>
void DefinitionDecoder::decode_blocks(std::vector<Block>& blocks, FieldCursor cursor) {
    uint64_t ordinal = 0;
    while (cursor.at < cursor.end) {
        ordinal += static_cast<uint64_t>(cursor.zz());
        const uint32_t id = cursor.uv32();
        if (!cursor.good) {
            ++faulty_count_;
            return;
        }
        blocks.push_back({ordinal, id});
    }
}

void DefinitionDecoder::decode_context_tag(FieldCursor cursor) {
    const uint32_t context = cursor.uv32();
    const uint32_t tag = cursor.uv32();
    if (cursor.good) {
        out_.context_tags[context] = tag;
    } else {
        ++faulty_count_;
    }
}

void DefinitionDecoder::decode_holder_search(FieldCursor cursor) {
    const auto search = cursor.definition<format::HolderSearch>();
    if (cursor.good) {
        out_.holder_searches.push_back(search);
    } else {
        ++faulty_count_;
    }
}

void DefinitionDecoder::decode_holder(FieldCursor cursor) {
    BlockHolder holder{cursor.definition<format::Holder>(), {}};
    holder.text = std::string(cursor.rest());
    const bool fits = holder.block_bytes <= kMaxBlockBytes &&
                      holder.requested_bytes <= kMaxBlockBytes && holder.device < kMaxDevices;
    if (cursor.good && fits) {
        out_.holders.push_back(std::move(holder));
    } else {
        ++faulty_count_;
    }
}

}  // namespace peakline::report
