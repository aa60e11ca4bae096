// Decodes DEFS payloads. A record that is framed well but names things that do not exist keeps
// its id as an empty definition, so that the ids after it stay right.
//
// Note [Lost definitions]
// After a chunk that cannot be read the next one tells the ids it begins with: those between are
// filled with definitions that name kLost, an id no table has. When everything is read, each name
// that does not exist becomes the id of an explicit lost definition of its kind.
#include "definitions.h"

#include <algorithm>
#include <array>
#include <span>

#include "field_cursor.h"

namespace peakline::report {
namespace {

using format::DefType;

constexpr uint32_t kLost = UINT32_MAX;
// A recorder's tables hold no more; what a hostile header claims must not fill the memory.
constexpr uint32_t kMaxIds = 1U << 22;

class DefinitionDecoder {
public:
    explicit DefinitionDecoder(Definitions* out) : out_(*out) {}

    // To be called before each chunk; false when its header cannot be true, then its ids are
    // unknown.
    bool begin_chunk(const format::ChunkHeader& header);
    void decode(const TypedRecord& record);
    // Definitions were skipped: any id that is not defined may be one of them.
    void note_loss() { after_loss_ = some_lost_ = true; }
    // Contexts may be written before what they name: ids are checked when all are known.
    void finish();
    uint64_t faulty_count() const { return faulty_count_; }
    uint64_t lost_count() const { return lost_count_; }

private:
    template <class T>
    void keep(ById<T>& table, const FieldCursor& cursor, const T& item) {
        table.add(cursor.good ? item : T{});
        faulty_count_ += cursor.good ? 0 : 1;
    }
    template <class T>
    void check(T* item, bool valid) {
        if (!valid) {
            *item = T{};
            ++faulty_count_;
        }
    }
    // Whether the id names something; after a loss every id does.
    template <class T>
    bool resolve(uint32_t* id, const ById<T>& table, uint32_t lost_id) const {
        if (!table.has(*id) && some_lost_) {
            *id = lost_id;
        }
        return table.has(*id);
    }
    std::array<uint32_t, format::kDefTypeCount> counts() const;
    void add_lost_definitions();
    void check_python();
    void check_native();
    void decode_node(ById<StackNode>& nodes, FieldCursor cursor);
    void decode_python_frame(FieldCursor cursor);
    void decode_module(FieldCursor cursor);
    void decode_context(FieldCursor cursor);
    void decode_class(FieldCursor cursor);
    void decode_meta(FieldCursor cursor);
    void decode_instance(FieldCursor cursor);
    void decode_tensor(FieldCursor cursor);
    void decode_tensor_blocks(FieldCursor cursor);
    template <class T>
    void keep_at(std::vector<T>& table, uint32_t id, const FieldCursor& cursor, const T& item);
    void check_objects();
    void check_contexts();
    void check_classes();

    Definitions& out_;
    uint64_t faulty_count_ = 0;
    uint64_t lost_count_ = 0;
    bool after_loss_ = false;  // since the last chunk that was read
    bool some_lost_ = false;
    // The lost definitions of kinds that nobody else asks for.
    uint32_t lost_frame_ = 0;
    uint32_t lost_module_ = 0;
    uint32_t lost_native_frame_ = 0;
    uint32_t lost_native_node_ = 0;
    uint32_t lost_thread_ = 0;
};

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
    out_.python_frames.fill(before(DefType::kPythonFrame), {kLost, 0, 0, 0, 0});
    out_.python_nodes.fill(before(DefType::kPythonNode), {0, kLost});
    out_.modules.fill(before(DefType::kModule), {0, 0, 0, kLost, {}});
    out_.native_frames.fill(before(DefType::kNativeFrame), {kLost, 0});
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
            return decode_python_frame(cursor);
        case DefType::kPythonNode:
            return decode_node(out_.python_nodes, cursor);
        case DefType::kModule:
            return decode_module(cursor);
        case DefType::kNativeFrame: {
            const NativeFrame frame = {cursor.uv32(), cursor.uv()};
            return keep(out_.native_frames, cursor, frame);
        }
        case DefType::kNativeNode:
            return decode_node(out_.native_nodes, cursor);
        case DefType::kThread: {
            const Thread thread = {cursor.uv(), cursor.uv32()};
            return keep(out_.threads, cursor, thread);
        }
        case DefType::kStream: {
            const uint64_t handle = cursor.uv();
            return keep(out_.streams, cursor, handle);
        }
        case DefType::kContext:
            return decode_context(cursor);
        case DefType::kClass:
            return decode_class(cursor);
        case DefType::kMeta:
            return decode_meta(cursor);
        case DefType::kInstance:
            return decode_instance(cursor);
        case DefType::kTensor:
            return decode_tensor(cursor);
        case DefType::kTensorBlocks:
            return decode_tensor_blocks(cursor);
    }
    // A type of a newer minor version: skipped by its length.
}

void DefinitionDecoder::decode_node(ById<StackNode>& nodes, FieldCursor cursor) {
    StackNode node = {cursor.uv32(), cursor.uv32()};
    if (node.parent > nodes.count()) {
        cursor.good = false;
    }
    keep(nodes, cursor, node);
}

void DefinitionDecoder::decode_python_frame(FieldCursor cursor) {
    PythonFrame frame;
    frame.file = cursor.uv32();
    frame.name = cursor.uv32();
    frame.qualified_name = cursor.uv32();
    frame.line = cursor.uv32();
    frame.instance = cursor.at < cursor.end ? cursor.uv32() : 0;
    keep(out_.python_frames, cursor, frame);
}

void DefinitionDecoder::decode_module(FieldCursor cursor) {
    Module module;
    module.start = cursor.uv();
    module.end = cursor.uv();
    module.load_bias = cursor.uv();
    module.path = cursor.uv32();
    module.build_id = std::string(cursor.rest());
    keep(out_.modules, cursor, module);
}

void DefinitionDecoder::decode_context(FieldCursor cursor) {
    Context context;
    context.thread = cursor.uv32();
    context.python_node = cursor.uv32();
    context.native_node = cursor.uv32();
    context.forward_node = cursor.uv32();
    context.operator_name = cursor.uv32();
    context.flags = cursor.uv32();
    keep(out_.contexts, cursor, context);
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

// For definitions that tell their id themselves.
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
    const uint32_t id = cursor.uv32();
    Instance instance;
    instance.class_name = cursor.uv32();
    instance.root = cursor.uv32();
    instance.path = cursor.uv32();
    keep_at(out_.instances, id, cursor, instance);
}

void DefinitionDecoder::decode_tensor(FieldCursor cursor) {
    const uint32_t id = cursor.uv32();
    TensorName tensor;
    const uint32_t kind = cursor.uv32();
    tensor.kind = static_cast<format::TensorKind>(kind);
    tensor.name = cursor.uv32();
    tensor.detail = cursor.uv32();
    tensor.instance = cursor.uv32();
    // A kind of a newer minor version is one this reader cannot name.
    if (kind != 0 && kind <= format::kLastTensorKind) {
        keep_at(out_.tensors, id, cursor, tensor);
    }
}

void DefinitionDecoder::decode_tensor_blocks(FieldCursor cursor) {
    uint64_t ordinal = 0;
    while (cursor.at < cursor.end) {
        ordinal += static_cast<uint64_t>(cursor.zz());
        const uint32_t tensor = cursor.uv32();
        if (!cursor.good) {
            ++faulty_count_;
            return;
        }
        out_.tensor_blocks.push_back({ordinal, tensor});
    }
}

// Blocks by ordinal, each with what was told last.
void DefinitionDecoder::check_objects() {
    const auto known = [this](uint32_t* string) {
        *string = out_.strings.has(*string) ? *string : out_.lost_string;
    };
    for (Instance& instance : out_.instances) {
        known(&instance.class_name);
        known(&instance.root);
        known(&instance.path);
    }
    for (TensorName& tensor : out_.tensors) {
        known(&tensor.name);
        known(&tensor.detail);
    }
    std::vector<TensorBlock>& blocks = out_.tensor_blocks;
    std::stable_sort(blocks.begin(), blocks.end(), [](const TensorBlock& a, const TensorBlock& b) {
        return a.ordinal < b.ordinal;
    });
    size_t kept = 0;
    for (const TensorBlock& block : blocks) {
        kept -= kept != 0 && blocks[kept - 1].ordinal == block.ordinal ? 1 : 0;
        blocks[kept++] = block;
    }
    blocks.resize(kept);
}

void DefinitionDecoder::add_lost_definitions() {
    out_.lost_string = out_.strings.add(kLostName);
    lost_frame_ = out_.python_frames.add({out_.lost_string, 0, 0, 0, 0});
    out_.lost_node = out_.python_nodes.add({0, lost_frame_});
    lost_module_ = out_.modules.add({0, 0, 0, out_.lost_string, {}});
    lost_native_frame_ = out_.native_frames.add({lost_module_, 0});
    lost_native_node_ = out_.native_nodes.add({0, lost_native_frame_});
    lost_thread_ = out_.threads.add({0, out_.lost_string});
    out_.lost_context =
        out_.contexts.add({lost_thread_, out_.lost_node, lost_native_node_, 0, 0, 0});
}

void DefinitionDecoder::check_python() {
    const uint32_t lost_string = out_.lost_string;
    for (PythonFrame& frame : out_.python_frames) {
        const bool file = resolve(&frame.file, out_.strings, lost_string);
        const bool name = resolve(&frame.name, out_.strings, lost_string);
        check(&frame, file && name && resolve(&frame.qualified_name, out_.strings, lost_string));
    }
    for (StackNode& node : out_.python_nodes) {
        check(&node, resolve(&node.frame, out_.python_frames, lost_frame_));
    }
}

void DefinitionDecoder::check_native() {
    for (Module& module : out_.modules) {
        check(&module, resolve(&module.path, out_.strings, out_.lost_string));
    }
    for (NativeFrame& frame : out_.native_frames) {
        check(&frame, resolve(&frame.module, out_.modules, lost_module_));
    }
    for (StackNode& node : out_.native_nodes) {
        check(&node, resolve(&node.frame, out_.native_frames, lost_native_frame_));
    }
}

void DefinitionDecoder::check_contexts() {
    for (Thread& thread : out_.threads) {
        check(&thread, resolve(&thread.name, out_.strings, out_.lost_string));
    }
    for (Context& context : out_.contexts) {
        bool valid = resolve(&context.thread, out_.threads, lost_thread_);
        valid = resolve(&context.python_node, out_.python_nodes, out_.lost_node) && valid;
        valid = resolve(&context.native_node, out_.native_nodes, lost_native_node_) && valid;
        valid = resolve(&context.forward_node, out_.python_nodes, out_.lost_node) && valid;
        valid = resolve(&context.operator_name, out_.strings, out_.lost_string) && valid;
        check(&context, valid);
    }
}

void DefinitionDecoder::check_classes() {
    for (AllocationShape& shape : out_.classes) {
        // The sizes are good: keep them, as bytes of an unknown place.
        if (!resolve(&shape.context, out_.contexts, out_.lost_context)) {
            shape.context = 0;
            ++faulty_count_;
        }
        shape.untraced = out_.is_untraced(shape.context);
    }
}

void DefinitionDecoder::finish() {
    if (some_lost_) {
        add_lost_definitions();
    }
    check_python();
    check_native();
    check_contexts();
    check_classes();
    check_objects();
}

// Empty when every record of the payload was decoded.
std::string decode_payload(std::span<const unsigned char> payload, DefinitionDecoder& decoder) {
    FieldCursor cursor(payload);
    while (cursor.at < cursor.end) {
        const auto offset = cursor.at - payload.data();
        TypedRecord record;
        if (!next_typed_record(cursor, &record)) {
            return "its definition at byte " + std::to_string(offset) + " is cut";
        }
        decoder.decode(record);
    }
    return {};
}

// Why definitions of the chunk are lost; empty when all were decoded.
std::string read_chunk(const ByteSource& source,
                       const ChunkPlace& place,
                       uint64_t number,
                       DefinitionDecoder& decoder) {
    std::vector<unsigned char> scratch;
    std::span<const unsigned char> payload;
    const ChunkState state = read_payload(source, place, number, scratch, &payload);
    if (state == ChunkState::kChecksumDiffers) {
        return "its checksum differs: chunk skipped";
    }
    if (!decoder.begin_chunk(place.header)) {
        return "the ids in its header do not follow those before it: chunk skipped";
    }
    return decode_payload(payload, decoder);
}

// A chunk whose type is lost may have been a DEFS chunk.
bool may_define(const ChunkPlace& place) {
    return place.header.type != static_cast<uint16_t>(format::ChunkType::kEvents) &&
           place.header.type != static_cast<uint16_t>(format::ChunkType::kSummary);
}

}  // namespace

bool set_shape(AllocationShape* shape, uint64_t device, uint64_t requested, int64_t rounding) {
    if (device >= kMaxDevices || requested > kMaxBlockBytes ||
        rounding > static_cast<int64_t>(kMaxBlockBytes) ||
        rounding < -static_cast<int64_t>(requested)) {
        return false;
    }
    shape->device = static_cast<uint32_t>(device);
    shape->requested_bytes = requested;
    shape->block_bytes = requested + static_cast<uint64_t>(rounding);
    return true;
}

const Instance& Definitions::instance(uint32_t id) const {
    static const Instance none;
    return id - 1 < instances.size() ? instances[id - 1] : none;
}

const TensorName& Definitions::tensor(uint32_t id) const {
    static const TensorName none;
    return id - 1 < tensors.size() ? tensors[id - 1] : none;
}

uint32_t Definitions::tensor_of(uint64_t ordinal) const {
    const auto found = std::lower_bound(
        tensor_blocks.begin(),
        tensor_blocks.end(),
        ordinal,
        [](const TensorBlock& block, uint64_t wanted) { return block.ordinal < wanted; });
    const bool is_told = found != tensor_blocks.end() && found->ordinal == ordinal;
    return is_told && tensor(found->tensor).kind != format::TensorKind{} ? found->tensor : 0;
}

std::string_view Definitions::meta_text(const std::string& key) const {
    const auto found = meta.find(key);
    return found == meta.end() ? std::string_view() : std::string_view(found->second);
}

Definitions read_definitions(const ByteSource& source,
                             const std::vector<ChunkPlace>& places,
                             Problems& problems) {
    Definitions definitions;
    DefinitionDecoder decoder(&definitions);
    for (uint64_t number = 0; number < places.size(); ++number) {
        if (!may_define(places[number])) {
            continue;
        }
        if (!places[number].readable) {
            // The index has told. Whether it held definitions the next chunk knows.
            decoder.note_loss();
            continue;
        }
        const std::string reason = read_chunk(source, places[number], number, decoder);
        if (!reason.empty()) {
            decoder.note_loss();
            problems.add(source.name() + ": chunk " + std::to_string(number) +
                         " (definitions): " + reason);
        }
    }
    decoder.finish();
    if (decoder.lost_count() != 0) {
        problems.add(source.name() + ": " + std::to_string(decoder.lost_count()) +
                     " definitions are lost with damaged chunks: what they named is shown as '" +
                     kLostName + "'");
    }
    if (decoder.faulty_count() != 0) {
        problems.add(source.name() + ": " + std::to_string(decoder.faulty_count()) +
                     " definitions name things that are not defined: shown without a place");
    }
    return definitions;
}

}  // namespace peakline::report
