// NCCL's collectives and messages. Small data written by the host arrives at the other ranks. All
// else only waits for them.

#include <utility>
#include <vector>

#include <nccl.h>

#include <cuda_runtime_api.h>

#include "libraries/collectives_communicator.h"
#include "model/base/support.h"

namespace {

using Outputs = std::vector<peakline_sim_output>;

size_t element_bytes(ncclDataType_t type) {
    switch (type) {
        case ncclInt32:
        case ncclUint32:
        case ncclFloat32:
            return 4;
        case ncclInt64:
        case ncclUint64:
        case ncclFloat64:
            return 8;
        case ncclFloat16:
        case ncclBfloat16:
            return 2;
        default:
            return 1;
    }
}

int element_of(ncclDataType_t type) {
    switch (type) {
        case ncclInt8:
            return SIMGPU_ELEMENT_INT8;
        case ncclUint8:
            return SIMGPU_ELEMENT_UINT8;
        case ncclInt32:
            return SIMGPU_ELEMENT_INT32;
        case ncclUint32:
            return SIMGPU_ELEMENT_UINT32;
        case ncclInt64:
            return SIMGPU_ELEMENT_INT64;
        case ncclUint64:
            return SIMGPU_ELEMENT_UINT64;
        case ncclFloat32:
            return SIMGPU_ELEMENT_FLOAT32;
        case ncclFloat64:
            return SIMGPU_ELEMENT_FLOAT64;
        default:
            return SIMGPU_ELEMENT_OTHER;
    }
}

int reduction_of(ncclRedOp_t operation) {
    switch (operation) {
        case ncclSum:
            return SIMGPU_REDUCE_SUM;
        case ncclProd:
            return SIMGPU_REDUCE_PRODUCT;
        case ncclMax:
            return SIMGPU_REDUCE_MAX;
        case ncclMin:
            return SIMGPU_REDUCE_MIN;
        case ncclAvg:
            return SIMGPU_REDUCE_AVERAGE;
        default:
            return SIMGPU_REDUCE_OTHER;
    }
}

// A rank's contribution to a collective.
struct Given {
    const void* from = nullptr;
    size_t bytes = 0;
    int reduction = SIMGPU_REDUCE_NONE;
    int element = SIMGPU_ELEMENT_OTHER;
};

ncclResult_t start(ncclComm_t handle,
                   cudaStream_t stream,
                   const Given& given,
                   const Outputs& outputs) {
    const peakline_sim_collective collective = {given.from,
                                                given.bytes,
                                                given.reduction,
                                                given.element,
                                                outputs.data(),
                                                static_cast<int>(outputs.size())};
    peakline_sim_collective_on_stream(to_communicator(handle)->ranks, &collective, stream);
    return ncclSuccess;
}

// Broadcasts of a rank alone, held back until their group ends: torch gathers from all ranks by a
// group of broadcasts, one from each. There too, the other ranks contribute the same as this rank.
struct AloneBroadcast {
    const void* from;
    void* to;
    size_t bytes;
    int root;
    ncclComm_t handle;
    cudaStream_t stream;
};
// Never freed: thread-local data has no destructor.
thread_local std::vector<AloneBroadcast>* g_alone_broadcasts = nullptr;

// A missing root contributes this rank's contribution in the same group, else this rank's data.
ncclResult_t start_alone_broadcasts() {
    if (g_alone_broadcasts == nullptr) {
        return ncclSuccess;
    }
    const std::vector<AloneBroadcast> group = std::exchange(*g_alone_broadcasts, {});
    for (const AloneBroadcast& one : group) {
        const void* given = one.root == to_communicator(one.handle)->rank ? one.from : one.to;
        for (const AloneBroadcast& own : group) {
            if (own.handle == one.handle && own.bytes == one.bytes &&
                own.root == to_communicator(own.handle)->rank) {
                given = own.from;
            }
        }
        start(one.handle, one.stream, {given, one.bytes}, {{one.to, one.root, 0, one.bytes}});
    }
    return ncclSuccess;
}

void* advance(void* start, int rank, size_t bytes) {
    return static_cast<char*>(start) + static_cast<size_t>(rank) * bytes;
}

// One part from every rank, in order of rank. offset_bytes: its offset in a rank's contribution.
Outputs one_from_each(const Communicator& communicator,
                      void* to,
                      size_t bytes,
                      size_t offset_bytes) {
    Outputs outputs;
    for (int rank = 0; rank < communicator.rank_count; ++rank) {
        outputs.push_back({advance(to, rank, bytes), rank, offset_bytes, bytes});
    }
    return outputs;
}

}  // namespace

#define REQUIRE_COMMUNICATOR(handle) \
    if ((handle) == nullptr) {       \
        return ncclInvalidArgument;  \
    }                                \
    [[maybe_unused]] const Communicator& communicator = *to_communicator(handle);

SIMGPU_API ncclResult_t ncclGroupStart() {
    ++g_group_depth;
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclGroupEnd() {
    if (g_group_depth == 0) {
        return ncclInvalidUsage;
    }
    return --g_group_depth == 0 ? start_alone_broadcasts() : ncclSuccess;
}

SIMGPU_API ncclResult_t ncclAllReduce(const void* from,
                                      void* to,
                                      size_t count,
                                      ncclDataType_t type,
                                      ncclRedOp_t operation,
                                      ncclComm_t handle,
                                      cudaStream_t stream) {
    REQUIRE_COMMUNICATOR(handle)
    const size_t bytes = count * element_bytes(type);
    return start(handle,
                 stream,
                 {from, bytes, reduction_of(operation), element_of(type)},
                 {{to, 0, 0, bytes}});
}

SIMGPU_API ncclResult_t ncclBroadcast(const void* from,
                                      void* to,
                                      size_t count,
                                      ncclDataType_t type,
                                      int root,
                                      ncclComm_t handle,
                                      cudaStream_t stream) {
    REQUIRE_COMMUNICATOR(handle)
    const size_t bytes = count * element_bytes(type);
    if (peakline_sim_is_alone(communicator.ranks) != 0) {
        if (g_alone_broadcasts == nullptr) {
            g_alone_broadcasts = new std::vector<AloneBroadcast>;
        }
        g_alone_broadcasts->push_back({from, to, bytes, root, handle, stream});
        return g_group_depth == 0 ? start_alone_broadcasts() : ncclSuccess;
    }
    const bool is_root = communicator.rank == root;
    return start(handle, stream, {from, is_root ? bytes : 0}, {{to, root, 0, bytes}});
}

SIMGPU_API ncclResult_t ncclBcast(void* buffer,
                                  size_t count,
                                  ncclDataType_t type,
                                  int root,
                                  ncclComm_t handle,
                                  cudaStream_t stream) {
    return ncclBroadcast(buffer, buffer, count, type, root, handle, stream);
}

SIMGPU_API ncclResult_t ncclReduce(const void* from,
                                   void* to,
                                   size_t count,
                                   ncclDataType_t type,
                                   ncclRedOp_t operation,
                                   int root,
                                   ncclComm_t handle,
                                   cudaStream_t stream) {
    REQUIRE_COMMUNICATOR(handle)
    const size_t bytes = count * element_bytes(type);
    const Given given = {from, bytes, reduction_of(operation), element_of(type)};
    return start(
        handle, stream, given, communicator.rank == root ? Outputs{{to, 0, 0, bytes}} : Outputs{});
}

SIMGPU_API ncclResult_t ncclReduceScatter(const void* from,
                                          void* to,
                                          size_t count,
                                          ncclDataType_t type,
                                          ncclRedOp_t operation,
                                          ncclComm_t handle,
                                          cudaStream_t stream) {
    REQUIRE_COMMUNICATOR(handle)
    const size_t bytes = count * element_bytes(type);
    const size_t all_bytes = bytes * static_cast<size_t>(communicator.rank_count);
    const size_t own_offset = bytes * static_cast<size_t>(communicator.rank);
    return start(handle,
                 stream,
                 {from, all_bytes, reduction_of(operation), element_of(type)},
                 {{to, 0, own_offset, bytes}});
}

SIMGPU_API ncclResult_t ncclAllGather(const void* from,
                                      void* to,
                                      size_t count,
                                      ncclDataType_t type,
                                      ncclComm_t handle,
                                      cudaStream_t stream) {
    REQUIRE_COMMUNICATOR(handle)
    const size_t bytes = count * element_bytes(type);
    return start(handle, stream, {from, bytes}, one_from_each(communicator, to, bytes, 0));
}

#if NCCL_VERSION_CODE >= 22800
SIMGPU_API ncclResult_t ncclAlltoAll(const void* from,
                                     void* to,
                                     size_t count,
                                     ncclDataType_t type,
                                     ncclComm_t handle,
                                     cudaStream_t stream) {
    REQUIRE_COMMUNICATOR(handle)
    const size_t bytes = count * element_bytes(type);
    const size_t own_offset = bytes * static_cast<size_t>(communicator.rank);
    return start(handle,
                 stream,
                 {from, bytes * static_cast<size_t>(communicator.rank_count)},
                 one_from_each(communicator, to, bytes, own_offset));
}

SIMGPU_API ncclResult_t ncclGather(const void* from,
                                   void* to,
                                   size_t count,
                                   ncclDataType_t type,
                                   int root,
                                   ncclComm_t handle,
                                   cudaStream_t stream) {
    REQUIRE_COMMUNICATOR(handle)
    const size_t bytes = count * element_bytes(type);
    const bool is_root = communicator.rank == root;
    return start(handle,
                 stream,
                 {from, bytes},
                 is_root ? one_from_each(communicator, to, bytes, 0) : Outputs{});
}

SIMGPU_API ncclResult_t ncclScatter(const void* from,
                                    void* to,
                                    size_t count,
                                    ncclDataType_t type,
                                    int root,
                                    ncclComm_t handle,
                                    cudaStream_t stream) {
    REQUIRE_COMMUNICATOR(handle)
    const size_t bytes = count * element_bytes(type);
    const size_t all_bytes = bytes * static_cast<size_t>(communicator.rank_count);
    const size_t own_offset = bytes * static_cast<size_t>(communicator.rank);
    const bool is_root = communicator.rank == root;
    return start(handle, stream, {from, is_root ? all_bytes : 0}, {{to, root, own_offset, bytes}});
}
#endif

SIMGPU_API ncclResult_t ncclSend(const void* from,
                                 size_t count,
                                 ncclDataType_t type,
                                 int peer,
                                 ncclComm_t handle,
                                 cudaStream_t stream) {
    REQUIRE_COMMUNICATOR(handle)
    if (peer < 0 || peer >= communicator.rank_count) {
        return ncclInvalidArgument;
    }
    const size_t bytes = count * element_bytes(type);
    peakline_sim_send_on_stream(communicator.ranks, peer, from, bytes, stream);
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclRecv(
    void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t handle, cudaStream_t stream) {
    REQUIRE_COMMUNICATOR(handle)
    if (peer < 0 || peer >= communicator.rank_count) {
        return ncclInvalidArgument;
    }
    const size_t bytes = count * element_bytes(type);
    peakline_sim_receive_on_stream(communicator.ranks, peer, to, bytes, stream);
    return ncclSuccess;
}

// The factor is not kept, so the result of a scaled sum is unknown.
SIMGPU_API ncclResult_t ncclRedOpCreatePreMulSum(
    ncclRedOp_t* operation, void*, ncclDataType_t, ncclScalarResidence_t, ncclComm_t) {
    *operation = ncclNumOps;
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t) {
    return ncclSuccess;
}
