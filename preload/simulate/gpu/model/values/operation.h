// One collective or receive that waits for other ranks. Streams and events hold the operations that
// a wait must finish; pieces of device memory hold the operation that delivers them. The world's
// lock guards the fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/values/reduction.h"

namespace simgpu {

struct Content;

// One output of a collective: a part of a rank's contribution, or of the reduced contributions.
struct Delivery {
    std::shared_ptr<Content> content;
    int source_rank = 0;
    size_t offset_bytes = 0;
    size_t bytes = 0;
};

struct Operation {
    bool is_done = false;
    uint64_t number = 0;  // in the order of its board or mailbox
    bool is_receive = false;
    int sender_rank = 0;  // only for a receive
    Reduction reduction;
    size_t contributed_bytes = 0;
    std::vector<Delivery> deliveries;
};

using Operations = std::vector<std::shared_ptr<Operation>>;

}  // namespace simgpu
