// The values of PEAKLINE_BACKEND and PEAKLINE_STACKS, the default first. `peakline run` reads them
// through peakline._recorder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "allocator/torch/torch_part.h"

namespace peakline::preload {

struct BackendWord {
    const char* name;
    torch_part::Backend backend;  // status shows the first name of a backend
};
inline constexpr BackendWord kBackends[] = {
    {"delegate", torch_part::Backend::kDelegate},
    {"observe", torch_part::Backend::kObserve},
    {"pluggable", torch_part::Backend::kPluggableNative},
    {"pluggable:native", torch_part::Backend::kPluggableNative},
    {"pluggable:async", torch_part::Backend::kPluggableAsync},
    {"pluggable:malloc", torch_part::Backend::kPluggableMalloc},
};

struct StacksWord {
    const char* name;
    bool python;
    bool native;
};
inline constexpr StacksWord kStacks[] = {
    {"all", true, true},
    {"python", true, false},
    {"native", false, true},
    {"none", false, false},
};

// The row with this name; nullptr if there is none.
template <class Row, size_t kCount>
const Row* find_word(const Row (&rows)[kCount], const char* name) {
    for (const Row& row : rows) {
        if (strcmp(row.name, name) == 0) {
            return &row;
        }
    }
    return nullptr;
}

// Writes all names, separated by commas, cut to `room` including the final zero.
template <class Row, size_t kCount>
void list_words(const Row (&rows)[kCount], char* out, size_t room) {
    size_t used = 0;
    for (const Row& row : rows) {
        const int length =
            snprintf(out + used, room - used, "%s%s", used == 0 ? "" : ", ", row.name);
        used = std::min(used + static_cast<size_t>(length), room - 1);
    }
}

}  // namespace peakline::preload
