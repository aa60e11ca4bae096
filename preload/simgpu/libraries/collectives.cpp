// NCCL: communicators know their rank and size; a collective moves no data and is a piece of work
// on its stream, so every rank goes on at once and finds zeros. The meeting of ranks on the host is
// the program's own (a store), and stays real.

#include <atomic>
#include <cstring>

#include <nccl.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "model/support.h"

namespace {

struct Communicator {
    unsigned char library_part[64];  // belongs to peakline_sim_new_handle
    int rank;
    int rank_count;
    int device;
};

Communicator* to_communicator(ncclComm_t handle) {
    return reinterpret_cast<Communicator*>(handle);
}

ncclResult_t create(ncclComm_t* handle, int rank_count, int rank, int device) {
    if (handle == nullptr || rank < 0 || rank >= rank_count) {
        return ncclInvalidArgument;
    }
    auto* const made = static_cast<Communicator*>(peakline_sim_new_handle(sizeof(Communicator)));
    made->rank = rank;
    made->rank_count = rank_count;
    made->device = device;
    *handle = reinterpret_cast<ncclComm_t>(made);
    return ncclSuccess;
}

int current_device() {
    int device = 0;
    cudaGetDevice(&device);
    return device;
}

ncclResult_t work(ncclComm_t handle, cudaStream_t stream) {
    if (handle == nullptr) {
        return ncclInvalidArgument;
    }
    peakline_sim_work_on_stream(stream);
    return ncclSuccess;
}

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

// An all-gather may be made of one broadcast per rank in a group. What this rank sends in the group
// stands for what it receives from the others. Plain data: library destructors may still run.
constexpr int kGroupReceives = 64;
struct BroadcastGroup {
    const void* sent;
    size_t sent_bytes;
    void* received[kGroupReceives];
    size_t received_bytes[kGroupReceives];
    int received_count;
};
thread_local BroadcastGroup t_group;

void note_broadcast(const void* from, void* to, size_t bytes, bool is_root) {
    peakline_sim_exchanged(to, from, bytes);
    if (is_root) {
        t_group.sent = from;
        t_group.sent_bytes = bytes;
    } else if (t_group.received_count < kGroupReceives) {
        t_group.received[t_group.received_count] = to;
        t_group.received_bytes[t_group.received_count++] = bytes;
    }
}

void finish_group() {
    for (int index = 0; index < t_group.received_count; ++index) {
        if (t_group.sent != nullptr && t_group.received_bytes[index] == t_group.sent_bytes) {
            peakline_sim_exchanged(t_group.received[index], t_group.sent, t_group.sent_bytes);
        }
    }
    t_group = {};
}

ncclResult_t destroy(ncclComm_t handle) {
    peakline_sim_free_handle(handle);
    return ncclSuccess;
}

}  // namespace

SIMGPU_API ncclResult_t ncclGetVersion(int* version) {
    if (version == nullptr) {
        return ncclInvalidArgument;
    }
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    static std::atomic<unsigned> next{1};
    if (id == nullptr) {
        return ncclInvalidArgument;
    }
    std::memset(id, 0, sizeof *id);
    // Relaxed: only uniqueness within the process counts.
    const unsigned number = next.fetch_add(1, std::memory_order_relaxed);
    const pid_t process = getpid();
    std::memcpy(id->internal, &process, sizeof process);
    std::memcpy(id->internal + sizeof process, &number, sizeof number);
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclCommInitRank(ncclComm_t* communicator,
                                         int rank_count,
                                         ncclUniqueId,
                                         int rank) {
    return create(communicator, rank_count, rank, current_device());
}

SIMGPU_API ncclResult_t ncclCommInitRankConfig(
    ncclComm_t* communicator, int rank_count, ncclUniqueId, int rank, ncclConfig_t*) {
    return create(communicator, rank_count, rank, current_device());
}

#if NCCL_VERSION_CODE >= 22300
SIMGPU_API ncclResult_t ncclCommInitRankScalable(
    ncclComm_t* communicator, int rank_count, int rank, int, ncclUniqueId*, ncclConfig_t*) {
    return create(communicator, rank_count, rank, current_device());
}
#endif

SIMGPU_API ncclResult_t ncclCommInitAll(ncclComm_t* communicators,
                                        int device_count,
                                        const int* devices) {
    for (int index = 0; index < device_count; ++index) {
        const int device = devices == nullptr ? index : devices[index];
        const ncclResult_t result = create(communicators + index, device_count, index, device);
        if (result != ncclSuccess) {
            return result;
        }
    }
    return ncclSuccess;
}

// The ranks cannot ask each other who shares their colour: all of them are taken to.
SIMGPU_API ncclResult_t
ncclCommSplit(ncclComm_t parent, int color, int, ncclComm_t* made, ncclConfig_t*) {
    if (parent == nullptr || made == nullptr) {
        return ncclInvalidArgument;
    }
    if (color == NCCL_SPLIT_NOCOLOR) {
        *made = nullptr;
        return ncclSuccess;
    }
    const Communicator* const from = to_communicator(parent);
    return create(made, from->rank_count, from->rank, from->device);
}

SIMGPU_API ncclResult_t ncclCommFinalize(ncclComm_t) {
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
    return destroy(communicator);
}

SIMGPU_API ncclResult_t ncclCommAbort(ncclComm_t communicator) {
    return destroy(communicator);
}

SIMGPU_API ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
    if (error == nullptr) {
        return ncclInvalidArgument;
    }
    *error = ncclSuccess;
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclCommCount(const ncclComm_t communicator, int* count) {
    *count = to_communicator(communicator)->rank_count;
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclCommUserRank(const ncclComm_t communicator, int* rank) {
    *rank = to_communicator(communicator)->rank;
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclCommCuDevice(const ncclComm_t communicator, int* device) {
    *device = to_communicator(communicator)->device;
    return ncclSuccess;
}

// Registration only tells NCCL where a buffer is.
SIMGPU_API ncclResult_t ncclCommRegister(const ncclComm_t, void* buffer, size_t, void** handle) {
    *handle = buffer;
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclCommDeregister(const ncclComm_t, void*) {
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclMemAlloc(void** pointer, size_t bytes) {
    return cudaMalloc(pointer, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

SIMGPU_API ncclResult_t ncclMemFree(void* pointer) {
    return cudaFree(pointer) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

SIMGPU_API ncclResult_t ncclGroupStart() {
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclGroupEnd() {
    finish_group();
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclAllReduce(const void*,
                                      void*,
                                      size_t,
                                      ncclDataType_t,
                                      ncclRedOp_t,
                                      ncclComm_t communicator,
                                      cudaStream_t stream) {
    return work(communicator, stream);
}

SIMGPU_API ncclResult_t ncclBroadcast(const void* from,
                                      void* to,
                                      size_t count,
                                      ncclDataType_t type,
                                      int root,
                                      ncclComm_t communicator,
                                      cudaStream_t stream) {
    if (communicator == nullptr) {
        return ncclInvalidArgument;
    }
    const bool is_root = to_communicator(communicator)->rank == root;
    note_broadcast(from, to, count * element_bytes(type), is_root);
    return work(communicator, stream);
}

SIMGPU_API ncclResult_t ncclBcast(void* buffer,
                                  size_t count,
                                  ncclDataType_t type,
                                  int root,
                                  ncclComm_t communicator,
                                  cudaStream_t stream) {
    return ncclBroadcast(buffer, buffer, count, type, root, communicator, stream);
}

SIMGPU_API ncclResult_t ncclReduce(const void*,
                                   void*,
                                   size_t,
                                   ncclDataType_t,
                                   ncclRedOp_t,
                                   int,
                                   ncclComm_t communicator,
                                   cudaStream_t stream) {
    return work(communicator, stream);
}

SIMGPU_API ncclResult_t ncclReduceScatter(const void*,
                                          void*,
                                          size_t,
                                          ncclDataType_t,
                                          ncclRedOp_t,
                                          ncclComm_t communicator,
                                          cudaStream_t stream) {
    return work(communicator, stream);
}

SIMGPU_API ncclResult_t ncclAllGather(const void* from,
                                      void* to,
                                      size_t count,
                                      ncclDataType_t type,
                                      ncclComm_t communicator,
                                      cudaStream_t stream) {
    if (communicator == nullptr) {
        return ncclInvalidArgument;
    }
    const size_t bytes = count * element_bytes(type);
    for (int rank = 0; rank < to_communicator(communicator)->rank_count; ++rank) {
        peakline_sim_exchanged(
            static_cast<char*>(to) + static_cast<size_t>(rank) * bytes, from, bytes);
    }
    return work(communicator, stream);
}

#if NCCL_VERSION_CODE >= 22800
SIMGPU_API ncclResult_t ncclAlltoAll(
    const void*, void*, size_t, ncclDataType_t, ncclComm_t communicator, cudaStream_t stream) {
    return work(communicator, stream);
}

SIMGPU_API ncclResult_t ncclGather(
    const void*, void*, size_t, ncclDataType_t, int, ncclComm_t communicator, cudaStream_t stream) {
    return work(communicator, stream);
}

SIMGPU_API ncclResult_t ncclScatter(
    const void*, void*, size_t, ncclDataType_t, int, ncclComm_t communicator, cudaStream_t stream) {
    return work(communicator, stream);
}
#endif

SIMGPU_API ncclResult_t
ncclSend(const void*, size_t, ncclDataType_t, int, ncclComm_t communicator, cudaStream_t stream) {
    return work(communicator, stream);
}

SIMGPU_API ncclResult_t
ncclRecv(void*, size_t, ncclDataType_t, int, ncclComm_t communicator, cudaStream_t stream) {
    return work(communicator, stream);
}

SIMGPU_API ncclResult_t ncclRedOpCreatePreMulSum(
    ncclRedOp_t* operation, void*, ncclDataType_t, ncclScalarResidence_t, ncclComm_t) {
    *operation = ncclSum;
    return ncclSuccess;
}

SIMGPU_API ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t) {
    return ncclSuccess;
}

SIMGPU_API const char* ncclGetErrorString(ncclResult_t result) {
    switch (result) {
        case ncclSuccess:
            return "no error";
        case ncclUnhandledCudaError:
            return "unhandled cuda error";
        case ncclInvalidArgument:
            return "invalid argument";
        case ncclInvalidUsage:
            return "invalid usage";
        default:
            return "internal error";
    }
}

SIMGPU_API const char* ncclGetLastError(ncclComm_t) {
    return "";
}
