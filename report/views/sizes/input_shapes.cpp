#include "input_shapes.h"

#include "report/views/growth/input_sizes.h"

namespace peakline::report {
namespace {

// The dimension of the length; 0: this is no shape of an input.
size_t length_dimension(const Definitions& definitions, const TensorType& type) {
    const std::string_view dtype = definitions.text(type.dtype);
    const bool is_of_integers = dtype == "int64" || dtype == "int32";
    const size_t count = type.shape.size();
    if (is_of_integers) {
        return count == 2 ? 1 : 0;
    }
    return count == 4 ? 3 : count == 3 ? 1 : 0;
}

}  // namespace

void InputShapes::on_alloc(const BlockAlloc& block) {
    const Definitions& definitions = stacks_.definitions();
    const uint32_t type = definitions.type_of(block.ordinal);
    if (type == 0 || block.shape.device != device_) {
        return;
    }
    const auto [at, is_new] = makers_.try_emplace(block.shape.context);
    Maker& maker = at->second;
    if (is_new) {
        maker.may_make_inputs = may_make_inputs(stacks_, block.shape.context);
        maker.type = type;
    }
    ++maker.count;
    maker.is_of_one_shape = maker.is_of_one_shape && definitions.tensor_type(type).shape ==
                                                         definitions.tensor_type(maker.type).shape;
}

std::optional<StepSize> InputShapes::size() const {
    const Definitions& definitions = stacks_.definitions();
    std::optional<StepSize> found;
    for (const auto& [context, maker] : makers_) {
        const TensorType& type = definitions.tensor_type(maker.type);
        const size_t dimension = length_dimension(definitions, type);
        if (!maker.may_make_inputs || maker.count < 2 || dimension == 0) {
            continue;
        }
        const StepSize size{type.shape[0], type.shape[dimension]};
        const bool is_fine = maker.is_of_one_shape && size.batch != 0 && size.length != 0 &&
                             size.batch <= kMostOfSize && size.length <= kMostOfSize;
        if (!is_fine || (found.has_value() && *found != size)) {
            return std::nullopt;
        }
        found = size;
    }
    return found;
}

}  // namespace peakline::report
