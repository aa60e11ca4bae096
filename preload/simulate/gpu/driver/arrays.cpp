// CUDA arrays: device memory that only textures and copies access. Here the handle of an array is
// the address of its memory. Copies to and from arrays are not modelled.

#include "driver/driver_state.h"

using simgpu::MemoryKind;

namespace {

size_t format_bytes(CUarray_format format) {
    switch (format) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            return 1;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            return 2;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
            return 4;
        default:
            return 0;
    }
}

// A missing dimension is 0.
size_t extent(size_t elements) {
    return elements != 0 ? elements : 1;
}

CUresult create(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    SIMGPU_SESSION(session)
    const size_t element_bytes = format_bytes(shape.Format) * shape.NumChannels;
    if (element_bytes == 0) {
        peakline_sim_not_modelled("cuArrayCreate of this format", "CUDA_ERROR_NOT_SUPPORTED");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    SIMGPU_REQUIRE(array != nullptr && shape.Width != 0);
    uintptr_t start = 0;
    const CUresult result = session.world.allocate_device(
        session.context->device,
        shape.Width * extent(shape.Height) * extent(shape.Depth) * element_bytes,
        &start);
    *array = reinterpret_cast<CUarray>(start);
    return result;
}

}  // namespace

SIMGPU_API CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* shape) {
    SIMGPU_REQUIRE(shape != nullptr);
    return create(array, {shape->Width, shape->Height, 0, shape->Format, shape->NumChannels, 0});
}

SIMGPU_API CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
    SIMGPU_REQUIRE(shape != nullptr);
    return create(array, *shape);
}

SIMGPU_API CUresult cuArrayDestroy(CUarray array) {
    SIMGPU_SESSION(session)
    return session.world.free(reinterpret_cast<uintptr_t>(array), {MemoryKind::kDevice});
}
