#include "pinned_rounding.h"

#include <bit>
#include <charconv>
#include <string_view>

namespace peakline::report {
namespace {

// Bytes of an element of dtype "uint8", "bfloat16", "float8_e4m3fn", "bool"; 0: unknown.
uint64_t element_bytes(std::string_view dtype) {
    if (dtype == "bool") {
        return 1;
    }
    const size_t digits = dtype.find_first_of("123456789");
    uint64_t bits = 0;
    if (digits != std::string_view::npos) {
        std::from_chars(dtype.data() + digits, dtype.data() + dtype.size(), bits);
    }
    return bits / 8;
}

// Returns 0 if unknown, or more than a block can have.
uint64_t tensor_bytes(const Definitions& definitions, uint32_t type) {
    const TensorType& known = definitions.tensor_type(type);
    uint64_t bytes = type == 0 ? 0 : element_bytes(definitions.text(known.dtype));
    for (const uint64_t size : known.shape) {
        if (size != 0 && bytes > kMaxBlockBytes / size) {
            return 0;
        }
        bytes *= size;
    }
    return bytes;
}

void add(PinnedRounding* sum, uint64_t given, uint64_t asked) {
    const bool is_rounded = std::has_single_bit(given);
    // A tensor that would fit into a smaller block is only part of the request.
    const bool is_known = asked > given / 2 && asked <= given;
    sum->given_bytes += given;
    sum->least_asked_bytes += !is_rounded ? given : is_known ? asked : given / 2 + 1;
    sum->most_asked_bytes += is_rounded && is_known ? asked : given;
}

}  // namespace

PinnedRounding find_pinned_rounding(const LiveBlocks& blocks, const Definitions& definitions) {
    PinnedRounding sum;
    for (const TrackedBlock& one : blocks.blocks) {
        const uint64_t asked = tensor_bytes(definitions, definitions.type_of(one.ordinal));
        add(&sum, one.block.block_bytes, asked);
    }
    if (blocks.blocks.empty()) {
        for (const BlockGroup& group : blocks.groups) {
            for (uint64_t i = 0; i < group.count; ++i) {
                add(&sum, group.block_bytes, 0);
            }
        }
    }
    return sum;
}

}  // namespace peakline::report
