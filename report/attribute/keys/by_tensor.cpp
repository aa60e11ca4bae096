// --by tensor: the tensor in the block, as the program's objects reported it: "gradient of
// transformer.h.0.attn.c_attn.weight". Rows of other blocks give the reason for the missing name.
#include "report/attribute/grouping.h"
#include "report/attribute/names/module_names.h"

namespace peakline::report {
namespace {

constexpr const char* kNoTensor = "other (activations, inputs, temporary)";

std::string tensor_text(StackLookup& stacks, const Tensor& tensor) {
    const Definitions& definitions = stacks.definitions();
    std::string name = fold_path(std::string(definitions.text(tensor.name)), stacks.modules());
    const Instance& owner = definitions.instance(tensor.instance);
    if (stacks.has_several_models() && owner.root != 0) {
        name = std::string(definitions.text(owner.root)) + "." + name;
    }
    switch (tensor.kind) {
        case format::TensorKind::kParameter:
            return "parameter " + name;
        case format::TensorKind::kBuffer:
            return "buffer " + name;
        case format::TensorKind::kGradient:
            return "gradient of " + name;
        case format::TensorKind::kOptimizerState:
            break;
    }
    return std::string(definitions.text(tensor.detail)) + " of " + name;
}

}  // namespace

BlockRow row_by_tensor(StackLookup& stacks, const BlockGroup& block) {
    if (block.tensor != 0) {
        return named_row(tensor_text(stacks, stacks.definitions().tensor(block.tensor)));
    }
    return named_row(is_untraced(stacks, block) ? kUntracedName : kNoTensor);
}

}  // namespace peakline::report
