// Copies and fills. On a captured stream an operation only becomes a node; otherwise it is executed
// at once.

#include "driver/driver_state.h"
#include "model/memory/transfer.h"
#include "model/ranks/waiting.h"
#include "model/values/contents.h"
#include "model/values/guessed_reads.h"

using simgpu::Session;

namespace {

uintptr_t address_of(const void* pointer) {
    return reinterpret_cast<uintptr_t>(pointer);
}

// Sets *is_captured if the operation is only recorded.
CUresult announce(Session& session, CUstream stream, CUgraphNodeType type, bool* is_captured) {
    simgpu::GraphNode* node = nullptr;
    const CUresult result = simgpu::enqueue_work(session, stream, type, &node);
    *is_captured = node != nullptr;
    return result;
}

// Waits until other ranks' data for this range has arrived before the host reads it.
void wait_for_deliveries(uintptr_t to, uintptr_t from, size_t bytes) {
    simgpu::Operations operations;
    {
        simgpu::World& world = simgpu::World::instance();
        const auto lock = world.lock();
        if (!world.is_device_address(to)) {
            operations = simgpu::Contents::instance().operations_into(from, bytes);
        }
    }
    simgpu::wait_for(operations);
}

CUresult copy_locked(uintptr_t to, uintptr_t from, size_t bytes, CUstream stream) {
    SIMGPU_SESSION(session)
    bool is_captured = false;
    const CUresult result = announce(session, stream, CU_GRAPH_NODE_TYPE_MEMCPY, &is_captured);
    if (result != CUDA_SUCCESS || is_captured) {
        return result;
    }
    return simgpu::copy_bytes(session.world, to, from, bytes);
}

CUresult copy(uintptr_t to, uintptr_t from, size_t bytes, CUstream stream) {
    wait_for_deliveries(to, from, bytes);
    const CUresult result = copy_locked(to, from, bytes, stream);
    simgpu::report_guessed_reads();
    return result;
}

CUresult fill(
    CUdeviceptr start, unsigned value, size_t element_bytes, size_t count, CUstream stream) {
    SIMGPU_SESSION(session)
    bool is_captured = false;
    const CUresult result = announce(session, stream, CU_GRAPH_NODE_TYPE_MEMSET, &is_captured);
    if (result != CUDA_SUCCESS || is_captured) {
        return result;
    }
    return simgpu::fill_elements(session.world, start, value, element_bytes, count);
}

struct FilledRows {
    CUdeviceptr start;
    size_t pitch_bytes;
    unsigned value;
    size_t element_bytes;
    size_t width;
    size_t height;
};

CUresult fill_rows(const FilledRows& rows, CUstream stream) {
    SIMGPU_SESSION(session)
    bool is_captured = false;
    CUresult result = announce(session, stream, CU_GRAPH_NODE_TYPE_MEMSET, &is_captured);
    for (size_t row = 0; row < rows.height && result == CUDA_SUCCESS && !is_captured; ++row) {
        result = simgpu::fill_elements(session.world,
                                       rows.start + row * rows.pitch_bytes,
                                       rows.value,
                                       rows.element_bytes,
                                       rows.width);
    }
    return result;
}

bool is_linear(CUmemorytype type) {
    return type != CU_MEMORYTYPE_ARRAY;
}

simgpu::PitchedSide side(CUmemorytype type,
                         const void* host,
                         CUdeviceptr device,
                         size_t pitch_bytes,
                         size_t offset_bytes) {
    const uintptr_t start = type == CU_MEMORYTYPE_HOST ? address_of(host) : device;
    return {start + offset_bytes, pitch_bytes};
}

CUresult copy_3d_locked(const CUDA_MEMCPY3D* shape, CUstream stream) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(shape != nullptr);
    if (!is_linear(shape->srcMemoryType) || !is_linear(shape->dstMemoryType)) {
        peakline_sim_not_modelled("copying CUDA arrays", "CUDA_ERROR_NOT_SUPPORTED");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    bool is_captured = false;
    CUresult result = announce(session, stream, CU_GRAPH_NODE_TYPE_MEMCPY, &is_captured);
    for (size_t layer = 0; layer < shape->Depth && result == CUDA_SUCCESS && !is_captured;
         ++layer) {
        const size_t to_row = (shape->dstZ + layer) * shape->dstHeight + shape->dstY;
        const size_t from_row = (shape->srcZ + layer) * shape->srcHeight + shape->srcY;
        const auto to = side(shape->dstMemoryType,
                             shape->dstHost,
                             shape->dstDevice,
                             shape->dstPitch,
                             to_row * shape->dstPitch + shape->dstXInBytes);
        const auto from = side(shape->srcMemoryType,
                               shape->srcHost,
                               shape->srcDevice,
                               shape->srcPitch,
                               from_row * shape->srcPitch + shape->srcXInBytes);
        result = simgpu::copy_rows(session.world, to, from, shape->WidthInBytes, shape->Height);
    }
    return result;
}

CUresult copy_3d(const CUDA_MEMCPY3D* shape, CUstream stream) {
    const CUresult result = copy_3d_locked(shape, stream);
    simgpu::report_guessed_reads();
    return result;
}

// Rows are one layer.
CUresult copy_2d(const CUDA_MEMCPY2D* rows, CUstream stream) {
    SIMGPU_REQUIRE(rows != nullptr);
    CUDA_MEMCPY3D shape{};
    shape.srcMemoryType = rows->srcMemoryType;
    shape.srcHost = rows->srcHost;
    shape.srcDevice = rows->srcDevice;
    shape.srcPitch = rows->srcPitch;
    shape.srcY = rows->srcY;
    shape.srcXInBytes = rows->srcXInBytes;
    shape.dstMemoryType = rows->dstMemoryType;
    shape.dstHost = rows->dstHost;
    shape.dstDevice = rows->dstDevice;
    shape.dstPitch = rows->dstPitch;
    shape.dstY = rows->dstY;
    shape.dstXInBytes = rows->dstXInBytes;
    shape.WidthInBytes = rows->WidthInBytes;
    shape.Height = rows->Height;
    shape.Depth = 1;
    return copy_3d(&shape, stream);
}

}  // namespace

SIMGPU_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy(to, from, bytes, nullptr);
}

SIMGPU_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return copy(to, from, bytes, stream);
}

SIMGPU_API CUresult
cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
    return copy(to, from, bytes, nullptr);
}

SIMGPU_API CUresult cuMemcpyPeerAsync(
    CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes, CUstream stream) {
    return copy(to, from, bytes, stream);
}

SIMGPU_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* shape) {
    return copy_2d(shape, nullptr);
}

SIMGPU_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* shape, CUstream stream) {
    return copy_2d(shape, stream);
}

SIMGPU_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* shape) {
    return copy_3d(shape, nullptr);
}

SIMGPU_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* shape, CUstream stream) {
    return copy_3d(shape, stream);
}

#if CUDA_VERSION >= 13000
SIMGPU_API CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to,
                                          CUdeviceptr* from,
                                          size_t* bytes,
                                          size_t count,
                                          CUmemcpyAttributes*,
                                          size_t*,
                                          size_t,
                                          CUstream stream) {
    SIMGPU_REQUIRE(to != nullptr && from != nullptr && bytes != nullptr);
    for (size_t index = 0; index < count; ++index) {
        const CUresult result = copy(to[index], from[index], bytes[index], stream);
        if (result != CUDA_SUCCESS) {
            return result;
        }
    }
    return CUDA_SUCCESS;
}
#endif

SIMGPU_API CUresult cuMemsetD8_v2(CUdeviceptr start, unsigned char value, size_t count) {
    return fill(start, value, 1, count, nullptr);
}

SIMGPU_API CUresult cuMemsetD16_v2(CUdeviceptr start, unsigned short value, size_t count) {
    return fill(start, value, 2, count, nullptr);
}

SIMGPU_API CUresult cuMemsetD32_v2(CUdeviceptr start, unsigned value, size_t count) {
    return fill(start, value, 4, count, nullptr);
}

SIMGPU_API CUresult cuMemsetD8Async(CUdeviceptr start,
                                    unsigned char value,
                                    size_t count,
                                    CUstream stream) {
    return fill(start, value, 1, count, stream);
}

SIMGPU_API CUresult cuMemsetD16Async(CUdeviceptr start,
                                     unsigned short value,
                                     size_t count,
                                     CUstream stream) {
    return fill(start, value, 2, count, stream);
}

SIMGPU_API CUresult cuMemsetD32Async(CUdeviceptr start,
                                     unsigned value,
                                     size_t count,
                                     CUstream stream) {
    return fill(start, value, 4, count, stream);
}

SIMGPU_API CUresult cuMemsetD2D8_v2(
    CUdeviceptr start, size_t pitch_bytes, unsigned char value, size_t width, size_t height) {
    return fill_rows({start, pitch_bytes, value, 1, width, height}, nullptr);
}

SIMGPU_API CUresult cuMemsetD2D32_v2(
    CUdeviceptr start, size_t pitch_bytes, unsigned value, size_t width, size_t height) {
    return fill_rows({start, pitch_bytes, value, 4, width, height}, nullptr);
}

SIMGPU_API CUresult cuMemsetD2D8Async(CUdeviceptr start,
                                      size_t pitch_bytes,
                                      unsigned char value,
                                      size_t width,
                                      size_t height,
                                      CUstream stream) {
    return fill_rows({start, pitch_bytes, value, 1, width, height}, stream);
}

SIMGPU_API CUresult cuMemsetD2D32Async(CUdeviceptr start,
                                       size_t pitch_bytes,
                                       unsigned value,
                                       size_t width,
                                       size_t height,
                                       CUstream stream) {
    return fill_rows({start, pitch_bytes, value, 4, width, height}, stream);
}
