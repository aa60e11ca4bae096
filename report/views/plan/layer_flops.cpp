#include "layer_flops.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace peakline::report {
namespace {

constexpr uint64_t kFlopsOfProduct = 2;  // a multiplication and an addition

enum class Work : unsigned char { kNone, kProduct, kConvolution, kAttention, kUnknown };

Work work_of(std::string_view op) {
    constexpr std::array<std::string_view, 3> kProducts = {
        "aten::mm", "aten::addmm", "aten::linear"};
    const auto has = [op](std::string_view part) { return op.find(part) != op.npos; };
    if (std::find(kProducts.begin(), kProducts.end(), op) != kProducts.end()) {
        return Work::kProduct;
    }
    if (has("conv")) {
        return Work::kConvolution;
    }
    if (has("attention")) {
        return Work::kAttention;
    }
    return has("bmm") || has("matmul") || has("einsum") ? Work::kUnknown : Work::kNone;
}

// 0: larger than 64 bits.
uint64_t product_of(const std::vector<uint64_t>& numbers) {
    uint64_t product = 1;
    for (const uint64_t number : numbers) {
        if (__builtin_mul_overflow(product, number, &product)) {
            return 0;
        }
    }
    return product;
}

}  // namespace

void LayerFlops::see(const RunBlock& block) {
    const format::Tensor& tensor = definitions_.tensor(block.block.tensor);
    constexpr std::string_view kWeight = ".weight";
    const std::string_view name = definitions_.text(tensor.name);
    if (tensor.kind != format::TensorKind::kParameter || !name.ends_with(kWeight)) {
        return;
    }
    const std::vector<uint64_t>& shape = definitions_.tensor_type(block.type).shape;
    if (shape.size() >= 2) {
        weights_[std::string(name.substr(0, name.size() - kWeight.size()))] = {product_of(shape),
                                                                               shape};
    }
}

std::optional<uint64_t> LayerFlops::of_block(const std::string& op,
                                             const std::string& module,
                                             uint32_t type) const {
    const Work work = work_of(op);
    if (work == Work::kNone) {
        return 0;
    }
    const std::vector<uint64_t>& shape = definitions_.tensor_type(type).shape;
    if (work == Work::kAttention) {
        // [batch, heads, tokens, width]; other results of the operator have other shapes. Every
        // token attends to every one: as torch counts, also with a causal mask.
        return shape.size() == 4 ? 2 * kFlopsOfProduct * product_of(shape) * shape[2] : 0;
    }
    const auto weight = weights_.find(module);
    if (shape.size() < 2) {
        return 0;  // a workspace; a result of a real GPU has no shape, and then no sum is known
    }
    if (weight == weights_.end()) {
        return with_tied_weight(shape);
    }
    const uint64_t channels = work == Work::kConvolution ? shape[1] : shape.back();
    const std::vector<uint64_t>& sizes = weight->second.shape;
    if (channels == 0 || std::find(sizes.begin(), sizes.end(), channels) == sizes.end()) {
        return 0;  // another result, such as a cast of the input
    }
    return kFlopsOfProduct * product_of(shape) * (weight->second.element_count / channels);
}

// A weight that two modules share has the name of the first: the last dimension of the result finds
// it, if all weights of this width agree.
std::optional<uint64_t> LayerFlops::with_tied_weight(const std::vector<uint64_t>& shape) const {
    std::optional<uint64_t> width;
    for (const auto& [module, weight] : weights_) {
        const auto& sizes = weight.shape;
        if (std::find(sizes.begin(), sizes.end(), shape.back()) != sizes.end() &&
            shape.back() != 0) {
            const uint64_t found = weight.element_count / shape.back();
            if (width.has_value() && *width != found) {
                return std::nullopt;
            }
            width = found;
        }
    }
    return width.has_value() ? std::optional(kFlopsOfProduct * product_of(shape) * *width)
                             : std::nullopt;
}

std::optional<uint64_t> LayerFlops::of_run(const LayerRun& run) const {
    uint64_t sum = 0;
    for (const LayerBlock& block : run.blocks) {
        if (block.is_weight_copy) {
            continue;  // made by the operator that multiplies with it
        }
        const std::optional<uint64_t> flops = of_block(*block.op, *block.module, block.type);
        if (!flops.has_value()) {
            return std::nullopt;
        }
        sum += *flops;
    }
    return sum;
}

void PassFlops::see(const RunBlock& block, const LayerFlops& flops, size_t pass) {
    if (block.is_weight_copy) {
        return;
    }
    if (pass != pass_) {
        pass_ = pass;
        sum_ = 0;
    }
    const auto found = flops.of_block(block.origin.op, block.origin.module, block.type);
    if (!sum_.has_value() || !found.has_value()) {
        sum_.reset();
        return;
    }
    // The backward pass of fused attention computes its scores again.
    const bool is_attention = work_of(block.origin.op) == Work::kAttention;
    *sum_ += is_attention ? *found * 7 / 2 : *found * 3;
}

std::optional<uint64_t> PassFlops::of_step() const {
    return sum_.has_value() && *sum_ != 0 ? sum_ : std::nullopt;
}

}  // namespace peakline::report
