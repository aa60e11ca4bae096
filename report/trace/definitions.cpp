// Decodes DEFS payloads. A record that is framed well but names things that do not exist keeps
// its id as an empty definition, so that the ids after it stay right.
#include "definitions.h"

#include <algorithm>
#include <limits>
#include <span>

#include "field_cursor.h"

namespace peakline::report {
namespace {

using format::DefType;

class DefinitionDecoder {
public:
    explicit DefinitionDecoder(Definitions* out) : out_(*out) {}

    void decode(const TypedRecord& record);
    // Contexts may be written before what they name: ids are checked when all are known.
    void check_ids();
    uint64_t faulty_count() const { return faulty_count_; }

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
    void decode_node(ById<StackNode>& nodes, FieldCursor cursor);
    void decode_python_frame(FieldCursor cursor);
    void decode_module(FieldCursor cursor);
    void decode_context(FieldCursor cursor);
    void decode_class(FieldCursor cursor);
    void decode_meta(FieldCursor cursor);
    void check_contexts();

    Definitions& out_;
    uint64_t faulty_count_ = 0;
};

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

void DefinitionDecoder::check_contexts() {
    for (Context& context : out_.contexts) {
        check(&context,
              out_.threads.has(context.thread) && out_.python_nodes.has(context.python_node) &&
                  out_.native_nodes.has(context.native_node) &&
                  out_.python_nodes.has(context.forward_node) &&
                  out_.strings.has(context.operator_name));
    }
}

void DefinitionDecoder::check_ids() {
    const auto& strings = out_.strings;
    for (PythonFrame& frame : out_.python_frames) {
        check(&frame,
              strings.has(frame.file) && strings.has(frame.name) &&
                  strings.has(frame.qualified_name));
    }
    for (StackNode& node : out_.python_nodes) {
        check(&node, out_.python_frames.has(node.frame));
    }
    for (Module& module : out_.modules) {
        check(&module, strings.has(module.path));
    }
    for (NativeFrame& frame : out_.native_frames) {
        check(&frame, out_.modules.has(frame.module));
    }
    for (StackNode& node : out_.native_nodes) {
        check(&node, out_.native_frames.has(node.frame));
    }
    check_contexts();
    for (AllocationShape& shape : out_.classes) {
        // The sizes are good: keep them, as bytes of an unknown place.
        if (!out_.contexts.has(shape.context)) {
            shape.context = 0;
            ++faulty_count_;
        }
        shape.untraced = out_.is_untraced(shape.context);
    }
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

// Why the definitions of later chunks cannot be used; empty when they can.
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
    return decode_payload(payload, decoder);
}

// A chunk whose type is lost may have been a DEFS chunk.
bool may_define(const ChunkPlace& place) {
    return place.header.type != static_cast<uint16_t>(format::ChunkType::kEvents) &&
           place.header.type != static_cast<uint16_t>(format::ChunkType::kSummary);
}

bool defines_later(const std::vector<ChunkPlace>& places, uint64_t number) {
    return std::any_of(places.begin() + static_cast<ptrdiff_t>(number) + 1,
                       places.end(),
                       [](const ChunkPlace& place) { return place.is(format::ChunkType::kDefs); });
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
        const std::string reason = places[number].readable
                                       ? read_chunk(source, places[number], number, decoder)
                                       : "its header is damaged";
        if (reason.empty()) {
            continue;
        }
        const bool cuts_ids = defines_later(places, number);
        if (places[number].readable || cuts_ids) {
            problems.add(source.name() + ": chunk " + std::to_string(number) +
                         (places[number].readable ? " (definitions): " : ": ") + reason +
                         (cuts_ids ? "; definitions in later chunks cannot be used, allocations"
                                     " that name them have no size and no place"
                                   : ""));
        }
        if (cuts_ids) {
            break;
        }
    }
    decoder.check_ids();
    if (decoder.faulty_count() != 0) {
        problems.add(source.name() + ": " + std::to_string(decoder.faulty_count()) +
                     " definitions name things that are not defined: shown without a place");
    }
    return definitions;
}

}  // namespace peakline::report
