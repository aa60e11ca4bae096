// One loop for every element type and kind of reduction.

#include "model/values/reduction.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace simgpu {
namespace {

template <typename Element>
Element combine(int kind, Element left, Element right) {
    switch (kind) {
        case SIMGPU_REDUCE_PRODUCT:
            return static_cast<Element>(left * right);
        case SIMGPU_REDUCE_MAX:
            return std::max(left, right);
        case SIMGPU_REDUCE_MIN:
            return std::min(left, right);
        default:
            return static_cast<Element>(left + right);
    }
}

template <typename Element>
bool reduce_as(int kind,
               const std::vector<const unsigned char*>& contributions,
               size_t bytes,
               unsigned char* result) {
    for (size_t at = 0; at + sizeof(Element) <= bytes; at += sizeof(Element)) {
        Element total{};
        std::memcpy(&total, contributions.front() + at, sizeof total);
        for (size_t rank = 1; rank < contributions.size(); ++rank) {
            Element next{};
            std::memcpy(&next, contributions[rank] + at, sizeof next);
            total = combine(kind, total, next);
        }
        if (kind == SIMGPU_REDUCE_AVERAGE) {
            total = static_cast<Element>(total / static_cast<Element>(contributions.size()));
        }
        std::memcpy(result + at, &total, sizeof total);
    }
    return true;
}

}  // namespace

bool reduce(const Reduction& reduction,
            const std::vector<const unsigned char*>& contributions,
            size_t bytes,
            unsigned char* result) {
    if (reduction.kind == SIMGPU_REDUCE_OTHER) {
        return false;
    }
    switch (reduction.element) {
        case SIMGPU_ELEMENT_INT8:
            return reduce_as<int8_t>(reduction.kind, contributions, bytes, result);
        case SIMGPU_ELEMENT_UINT8:
            return reduce_as<uint8_t>(reduction.kind, contributions, bytes, result);
        case SIMGPU_ELEMENT_INT32:
            return reduce_as<int32_t>(reduction.kind, contributions, bytes, result);
        case SIMGPU_ELEMENT_UINT32:
            return reduce_as<uint32_t>(reduction.kind, contributions, bytes, result);
        case SIMGPU_ELEMENT_INT64:
            return reduce_as<int64_t>(reduction.kind, contributions, bytes, result);
        case SIMGPU_ELEMENT_UINT64:
            return reduce_as<uint64_t>(reduction.kind, contributions, bytes, result);
        case SIMGPU_ELEMENT_FLOAT32:
            return reduce_as<float>(reduction.kind, contributions, bytes, result);
        case SIMGPU_ELEMENT_FLOAT64:
            return reduce_as<double>(reduction.kind, contributions, bytes, result);
        default:
            return false;
    }
}

}  // namespace simgpu
