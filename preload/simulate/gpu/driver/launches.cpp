// Launches and occupancy. A launch only checks its shape.

#include <algorithm>

#include "driver/driver_state.h"
#include "driver/kernels.h"
#include "model/base/log.h"
#include "model/memory/launch_effects.h"

using simgpu::is_kernel;
using simgpu::kAssumedRegisters;
using simgpu::Kernel;
using simgpu::kMaxThreadsPerBlock;
using simgpu::to_kernel;

namespace {

constexpr unsigned kMaxGridYZ = 65535;

struct LaunchShape {
    unsigned grid[3];
    unsigned block[3];
    unsigned dynamic_shared_bytes;
};

bool is_valid(const LaunchShape& shape) {
    for (int axis = 0; axis < 3; ++axis) {
        if (shape.grid[axis] == 0 || shape.block[axis] == 0) {
            return false;
        }
    }
    const size_t threads = size_t{shape.block[0]} * shape.block[1] * shape.block[2];
    return threads <= kMaxThreadsPerBlock && shape.block[2] <= 64 && shape.grid[1] <= kMaxGridYZ &&
           shape.grid[2] <= kMaxGridYZ && shape.grid[0] <= 0x7fffffffu;
}

// parameters: may be null; see Note [Known contents] in model/memory/launch_effects.h.
CUresult launch(CUfunction function,
                const LaunchShape& shape,
                CUstream stream,
                void* const* parameters) {
    SIMGPU_INITIALIZED()
    if (!is_kernel(function)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    const Kernel* const kernel = to_kernel(function);
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(is_valid(shape));
    SIMGPU_REQUIRE(static_cast<int>(shape.dynamic_shared_bytes) <=
                   kernel->max_dynamic_shared_bytes);
    if (!session.device().load_first_module()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (simgpu::log_level() >= 2) {
        simgpu::log_message(2, "launch %s", kernel->name.c_str());
    }
    simgpu::note_launch(parameters);
    simgpu::GraphNode* node = nullptr;
    const CUresult result = simgpu::enqueue_work(session, stream, CU_GRAPH_NODE_TYPE_KERNEL, &node);
    if (node != nullptr) {
        node->kernel.func = function;
        node->kernel.gridDimX = shape.grid[0];
        node->kernel.gridDimY = shape.grid[1];
        node->kernel.gridDimZ = shape.grid[2];
        node->kernel.blockDimX = shape.block[0];
        node->kernel.blockDimY = shape.block[1];
        node->kernel.blockDimZ = shape.block[2];
        node->kernel.sharedMemBytes = shape.dynamic_shared_bytes;
    }
    return result;
}

// The limits are threads, blocks, shared memory, and assumed registers.
int blocks_per_multiprocessor(const simgpu::DeviceProfile& profile,
                              int block_threads,
                              size_t shared_bytes) {
    const int warps = (std::max(block_threads, 1) + 31) / 32;
    const int by_threads = profile.threads_per_multiprocessor / (warps * 32);
    const int by_registers = 65536 / (kAssumedRegisters * warps * 32);
    int blocks = std::min({by_threads, by_registers, profile.blocks_per_multiprocessor});
    if (shared_bytes > 0) {
        const size_t by_shared = profile.shared_per_multiprocessor_bytes / (shared_bytes + 1024);
        blocks = std::min(blocks, static_cast<int>(by_shared));
    }
    return blocks;
}

}  // namespace

SIMGPU_API CUresult cuLaunchKernel(CUfunction function,
                                   unsigned grid_x,
                                   unsigned grid_y,
                                   unsigned grid_z,
                                   unsigned block_x,
                                   unsigned block_y,
                                   unsigned block_z,
                                   unsigned dynamic_shared_bytes,
                                   CUstream stream,
                                   void** parameters,
                                   void**) {
    return launch(function,
                  {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared_bytes},
                  stream,
                  parameters);
}

SIMGPU_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config,
                                     CUfunction function,
                                     void** parameters,
                                     void**) {
    SIMGPU_REQUIRE(config != nullptr);
    return launch(function,
                  {{config->gridDimX, config->gridDimY, config->gridDimZ},
                   {config->blockDimX, config->blockDimY, config->blockDimZ},
                   config->sharedMemBytes},
                  config->hStream,
                  parameters);
}

SIMGPU_API CUresult cuLaunchCooperativeKernel(CUfunction function,
                                              unsigned grid_x,
                                              unsigned grid_y,
                                              unsigned grid_z,
                                              unsigned block_x,
                                              unsigned block_y,
                                              unsigned block_z,
                                              unsigned dynamic_shared_bytes,
                                              CUstream stream,
                                              void** parameters) {
    return launch(function,
                  {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared_bytes},
                  stream,
                  parameters);
}

SIMGPU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                CUfunction,
                                                                int block_threads,
                                                                size_t shared_bytes) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(blocks != nullptr && block_threads > 0);
    *blocks = blocks_per_multiprocessor(session.device().profile(), block_threads, shared_bytes);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, CUfunction function, int block_threads, size_t shared_bytes, unsigned) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks, function, block_threads, shared_bytes);
}

SIMGPU_API CUresult cuOccupancyMaxPotentialBlockSize(
    int* grid, int* block_threads, CUfunction, CUoccupancyB2DSize, size_t shared_bytes, int limit) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(grid != nullptr && block_threads != nullptr);
    const simgpu::DeviceProfile& profile = session.device().profile();
    const int most = static_cast<int>(kMaxThreadsPerBlock);
    *block_threads = limit > 0 ? std::min(limit, most) : most;
    *grid =
        profile.multiprocessors * blocks_per_multiprocessor(profile, *block_threads, shared_bytes);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes,
                                                            CUfunction,
                                                            int blocks,
                                                            int) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(bytes != nullptr && blocks > 0);
    const simgpu::DeviceProfile& profile = session.device().profile();
    const size_t share = profile.shared_per_multiprocessor_bytes / static_cast<size_t>(blocks);
    *bytes = std::min(share > 1024 ? share - 1024 : 0, profile.shared_per_block_optin_bytes);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig*) {
    SIMGPU_REQUIRE(clusters != nullptr);
    *clusters = 16;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuOccupancyMaxPotentialClusterSize(int* blocks,
                                                       CUfunction,
                                                       const CUlaunchConfig*) {
    SIMGPU_REQUIRE(blocks != nullptr);
    *blocks = 8;  // the portable cluster size
    return CUDA_SUCCESS;
}

// Descriptors for kernels, which never read them.
SIMGPU_API CUresult cuTensorMapEncodeTiled(CUtensorMap* map,
                                           CUtensorMapDataType,
                                           cuuint32_t,
                                           void*,
                                           const cuuint64_t*,
                                           const cuuint64_t*,
                                           const cuuint32_t*,
                                           const cuuint32_t*,
                                           CUtensorMapInterleave,
                                           CUtensorMapSwizzle,
                                           CUtensorMapL2promotion,
                                           CUtensorMapFloatOOBfill) {
    SIMGPU_REQUIRE(map != nullptr);
    *map = {};
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void*) {
    SIMGPU_REQUIRE(map != nullptr);
    return CUDA_SUCCESS;
}
