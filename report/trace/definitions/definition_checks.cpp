// Checks the ids that definitions refer to, once all are known: see Note [Lost definitions].
#include <algorithm>

#include "definition_decoder.h"

namespace peakline::report {
namespace {

// Sorts by ordinal. Keeps the last report of each.
template <class Block>
void put_in_order(std::vector<Block>& blocks) {
    std::ranges::stable_sort(blocks, {}, &Block::ordinal);
    size_t kept = 0;
    for (const Block& block : blocks) {
        kept -= kept != 0 && blocks[kept - 1].ordinal == block.ordinal ? 1 : 0;
        blocks[kept++] = block;
    }
    blocks.resize(kept);
}

}  // namespace

void DefinitionDecoder::check_objects() {
    const auto known = [this](uint32_t* string) {
        *string = out_.strings.has(*string) ? *string : out_.lost_string;
    };
    for (Instance& instance : out_.instances) {
        known(&instance.class_name);
        known(&instance.root);
        known(&instance.path);
    }
    for (Tensor& tensor : out_.tensors) {
        known(&tensor.name);
        known(&tensor.detail);
    }
    for (BlockHolder& holder : out_.holders) {
        holder.context = out_.known_context(holder.context);
        holder.stream = out_.known_stream(holder.stream);
    }
    // Without its dtype a shape gives no bytes: forget both.
    for (TensorType& type : out_.tensor_types) {
        type.dtype = out_.strings.has(type.dtype) ? type.dtype : 0;
    }
    for (BlockType& block : out_.block_types) {
        block.type = block.type <= out_.tensor_types.size() ? block.type : 0;
    }
    put_in_order(out_.tensor_blocks);
    put_in_order(out_.block_types);
}

void DefinitionDecoder::add_lost_definitions() {
    out_.lost_string = out_.strings.add(kLostName);
    lost_frame_ = out_.python_frames.add({out_.lost_string, 0, 0, 0, 0});
    out_.lost_node = out_.python_nodes.add({0, lost_frame_});
    Module lost_module{};
    lost_module.path = out_.lost_string;
    lost_module_ = out_.modules.add(lost_module);
    lost_native_frame_ = out_.native_frames.add({0, lost_module_, 0});
    lost_native_node_ = out_.native_nodes.add({0, lost_native_frame_});
    out_.lost_thread = out_.threads.add({0, out_.lost_string});
    out_.lost_stream = out_.streams.add(kLostStream);
    out_.lost_context =
        out_.contexts.add({out_.lost_thread, out_.lost_node, lost_native_node_, 0, 0, 0});
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
        bool valid = resolve(&context.thread, out_.threads, out_.lost_thread);
        valid = resolve(&context.python_node, out_.python_nodes, out_.lost_node) && valid;
        valid = resolve(&context.native_node, out_.native_nodes, lost_native_node_) && valid;
        valid = resolve(&context.forward_node, out_.python_nodes, out_.lost_node) && valid;
        valid = resolve(&context.operator_name, out_.strings, out_.lost_string) && valid;
        check(&context, valid);
    }
}

void DefinitionDecoder::check_classes() {
    for (AllocationShape& shape : out_.classes) {
        // The sizes are good: keep them, as bytes of an unknown context.
        if (!resolve(&shape.context, out_.contexts, out_.lost_context)) {
            shape.context = 0;
            ++faulty_count_;
        }
        if (!out_.streams.has(shape.stream)) {
            shape.stream = out_.lost_stream;
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

}  // namespace peakline::report
