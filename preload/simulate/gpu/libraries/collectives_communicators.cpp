// Creates, splits and queries NCCL's communicators. Each is a rank in a meeting of ranks, see
// model/ranks/communicator.h.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include <nccl.h>

#include <cuda_runtime_api.h>

#include "libraries/collectives_communicator.h"
#include "libraries/own_memory.h"
#include "model/base/support.h"

thread_local int g_group_depth = 0;

namespace {

struct Membership {
    int rank;
    int rank_count;
    int device;
};

// Message of a rank to the others when their communicator is split.
struct SplitOffer {
    int color;
    int key;
    int parent_rank;
    ncclUniqueId id;
};

// Whether this is the process's first communicator on a device. The measured bytes of a first one
// include NCCL's code; those of later ones are unknown.
bool is_first_on(int device) {
    static std::atomic<uint64_t> with_communicators{0};
    const uint64_t bit = uint64_t{1} << (static_cast<unsigned>(device) % 64);
    return (with_communicators.fetch_or(bit) & bit) == 0;
}

ncclResult_t create(ncclComm_t* handle, const ncclUniqueId& id, const Membership& membership) {
    if (handle == nullptr || membership.rank < 0 || membership.rank >= membership.rank_count) {
        return ncclInvalidArgument;
    }
    auto* const made = static_cast<Communicator*>(peakline_sim_new_handle(sizeof(Communicator)));
    made->own_memory = nullptr;
    if (is_first_on(membership.device) &&
        !take_own_memory(SIMGPU_NCCL_COMMUNICATOR, &made->own_memory)) {
        peakline_sim_free_handle(made);
        return ncclUnhandledCudaError;
    }
    made->rank = membership.rank;
    made->rank_count = membership.rank_count;
    made->device = membership.device;
    made->ranks = peakline_sim_join(
        id.internal, membership.rank, membership.rank_count, g_group_depth == 0 ? 1 : 0);
    *handle = reinterpret_cast<ncclComm_t>(made);
    return ncclSuccess;
}

ncclResult_t destroy(ncclComm_t handle) {
    if (handle == nullptr) {
        return ncclInvalidArgument;
    }
    peakline_sim_leave(to_communicator(handle)->ranks);
    cudaFree(to_communicator(handle)->own_memory);
    peakline_sim_free_handle(handle);
    return ncclSuccess;
}

int current_device() {
    int device = 0;
    cudaGetDevice(&device);
    return device;
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
    if (id == nullptr) {
        return ncclInvalidArgument;
    }
    std::memset(id, 0, sizeof *id);
    return peakline_sim_create_meeting(id->internal) != 0 ? ncclSuccess : ncclSystemError;
}

SIMGPU_API ncclResult_t ncclCommInitRank(ncclComm_t* communicator,
                                         int rank_count,
                                         ncclUniqueId id,
                                         int rank) {
    return create(communicator, id, {rank, rank_count, current_device()});
}

SIMGPU_API ncclResult_t ncclCommInitRankConfig(
    ncclComm_t* communicator, int rank_count, ncclUniqueId id, int rank, ncclConfig_t*) {
    return create(communicator, id, {rank, rank_count, current_device()});
}

#if NCCL_VERSION_CODE >= 22300
SIMGPU_API ncclResult_t ncclCommInitRankScalable(ncclComm_t* communicator,
                                                 int rank_count,
                                                 int rank,
                                                 int id_count,
                                                 ncclUniqueId* ids,
                                                 ncclConfig_t*) {
    if (ids == nullptr || id_count < 1) {
        return ncclInvalidArgument;
    }
    return create(communicator, ids[0], {rank, rank_count, current_device()});
}
#endif

SIMGPU_API ncclResult_t ncclCommInitAll(ncclComm_t* communicators,
                                        int device_count,
                                        const int* devices) {
    ncclUniqueId id;
    ncclResult_t result = ncclGetUniqueId(&id);
    ++g_group_depth;
    for (int index = 0; index < device_count && result == ncclSuccess; ++index) {
        const int device = devices == nullptr ? index : devices[index];
        result = create(communicators + index, id, {index, device_count, device});
    }
    --g_group_depth;
    return result;
}

// Every rank sends the others its colour and key, and a new id. All ranks of a colour use the id of
// the first.
SIMGPU_API ncclResult_t
ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t* made, ncclConfig_t*) {
    if (parent == nullptr || made == nullptr) {
        return ncclInvalidArgument;
    }
    const Communicator* const from = to_communicator(parent);
    if (peakline_sim_is_alone(from->ranks) != 0) {
        // Only the missing ranks know the members of this colour.
        peakline_sim_not_modelled("ncclCommSplit by a rank alone", "ncclInvalidUsage");
        return ncclInvalidUsage;
    }
    SplitOffer own{};
    own.color = color;
    own.key = key;
    own.parent_rank = from->rank;
    if (const ncclResult_t result = ncclGetUniqueId(&own.id); result != ncclSuccess) {
        return result;
    }
    std::vector<SplitOffer> offers(static_cast<size_t>(from->rank_count));
    if (peakline_sim_gather_on_host(from->ranks, &own, sizeof own, offers.data()) == 0) {
        return ncclSystemError;
    }
    *made = nullptr;
    if (color == NCCL_SPLIT_NOCOLOR) {
        return ncclSuccess;
    }
    std::erase_if(offers, [color](const SplitOffer& offer) { return offer.color != color; });
    std::stable_sort(offers.begin(), offers.end(), [](const auto& left, const auto& right) {
        return left.key < right.key;
    });
    const auto self = std::find_if(offers.begin(), offers.end(), [&](const SplitOffer& offer) {
        return offer.parent_rank == from->rank;
    });
    const int rank = static_cast<int>(self - offers.begin());
    return create(made, offers.front().id, {rank, static_cast<int>(offers.size()), from->device});
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

// Registration only passes the address of a buffer to NCCL.
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
