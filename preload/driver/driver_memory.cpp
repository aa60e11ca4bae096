// Memory of devices and of the host: the calls that allocate it and the calls that free it.
#include "reporting.h"

namespace peakline::driver {

using format::DriverKind;

namespace {

// CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR.
struct ArrayShape {
    size_t width;
    size_t height;
    int format;
    unsigned channels;
};
struct Array3dShape {
    size_t width;
    size_t height;
    size_t depth;
    int format;
    unsigned channels;
    unsigned flags;
};
constexpr unsigned kSparseOrDeferred = 0x40 | 0x80;  // CUDA_ARRAY3D_SPARSE, _DEFERRED_MAPPING

size_t or_one(size_t extent) {
    return extent != 0 ? extent : 1;
}

size_t texel_bytes(int format, unsigned channels) {
    switch (format) {
        case 0x01:  // CU_AD_FORMAT_UNSIGNED_INT8
        case 0x08:  // SIGNED_INT8
            return channels;
        case 0x02:  // UNSIGNED_INT16
        case 0x09:  // SIGNED_INT16
        case 0x10:  // HALF
            return size_t{2} * channels;
        case 0x03:  // UNSIGNED_INT32
        case 0x0a:  // SIGNED_INT32
        case 0x20:  // FLOAT
            return size_t{4} * channels;
        default:
            return channels;  // block compressed and video formats: about a byte
    }
}

size_t bytes_of(const Array3dShape& shape) {
    if ((shape.flags & kSparseOrDeferred) != 0) {
        return 0;  // has no memory yet
    }
    return shape.width * or_one(shape.height) * or_one(shape.depth) *
           texel_bytes(shape.format, shape.channels);
}

PeaklineDriverEvent address_request(DriverKind kind, uint64_t address, uint64_t bytes) {
    return request(kind, kPeaklineAddress, address, bytes);
}

}  // namespace

extern "C" {

DRIVER_CALL cuMemAlloc_v2(PeaklineAddress* address, size_t bytes) {
    return call_then_report<Around::kSample>(
        REAL(cuMemAlloc_v2),
        [&] { return address_request(DriverKind::kDevice, *address, bytes); },
        address,
        bytes);
}

DRIVER_CALL cuMemAllocPitch_v2(
    PeaklineAddress* address, size_t* pitch, size_t width, size_t height, unsigned element) {
    return call_then_report<Around::kSample>(
        REAL(cuMemAllocPitch_v2),
        [&] { return address_request(DriverKind::kPitch, *address, *pitch * height); },
        address,
        pitch,
        width,
        height,
        element);
}

DRIVER_CALL cuMemAllocManaged(PeaklineAddress* address, size_t bytes, unsigned flags) {
    return call_then_report(
        REAL(cuMemAllocManaged),
        [&] { return address_request(DriverKind::kManaged, *address, bytes); },
        address,
        bytes,
        flags);
}

DRIVER_CALL cuMemAllocHost_v2(void** start, size_t bytes) {
    return call_then_report(
        REAL(cuMemAllocHost_v2),
        [&] { return address_request(DriverKind::kPinned, number_of(*start), bytes); },
        start,
        bytes);
}

DRIVER_CALL cuMemHostAlloc(void** start, size_t bytes, unsigned flags) {
    return call_then_report(
        REAL(cuMemHostAlloc),
        [&] { return address_request(DriverKind::kPinned, number_of(*start), bytes); },
        start,
        bytes,
        flags);
}

DRIVER_CALL cuMemHostRegister(void* start, size_t bytes, unsigned flags) {
    return call_then_report(
        REAL(cuMemHostRegister),
        [&] { return address_request(DriverKind::kRegistered, number_of(start), bytes); },
        start,
        bytes,
        flags);
}

DRIVER_CALL cuMemHostRegister_v2(void* start, size_t bytes, unsigned flags) {
    return call_then_report(
        REAL(cuMemHostRegister_v2),
        [&] { return address_request(DriverKind::kRegistered, number_of(start), bytes); },
        start,
        bytes,
        flags);
}

DRIVER_CALL cuArrayCreate_v2(PeaklineHandle* array, const void* shape) {
    const auto bytes = [&] {
        const auto& flat = *static_cast<const ArrayShape*>(shape);
        return bytes_of({flat.width, flat.height, 0, flat.format, flat.channels, 0});
    };
    return call_then_report<Around::kSample>(
        REAL(cuArrayCreate_v2),
        [&] { return request(DriverKind::kArray, kPeaklineArray, number_of(*array), bytes()); },
        array,
        shape);
}

DRIVER_CALL cuArray3DCreate_v2(PeaklineHandle* array, const void* shape) {
    const auto bytes = [&] { return bytes_of(*static_cast<const Array3dShape*>(shape)); };
    return call_then_report<Around::kSample>(
        REAL(cuArray3DCreate_v2),
        [&] { return request(DriverKind::kArray, kPeaklineArray, number_of(*array), bytes()); },
        array,
        shape);
}

DRIVER_CALL cuMipmappedArrayCreate(PeaklineHandle* array, const void* shape, unsigned levels) {
    const auto bytes = [&] {
        Array3dShape level = *static_cast<const Array3dShape*>(shape);
        size_t sum = 0;
        for (unsigned i = 0; i < levels && i < 32; ++i) {
            sum += bytes_of(level);
            level.width = or_one(level.width / 2);
            level.height /= 2;
            level.depth /= 2;
        }
        return sum;
    };
    return call_then_report<Around::kSample>(
        REAL(cuMipmappedArrayCreate),
        [&] { return request(DriverKind::kArray, kPeaklineArray, number_of(*array), bytes()); },
        array,
        shape,
        levels);
}

DRIVER_CALL cuImportExternalMemory(PeaklineHandle* memory, const void* description) {
    return call_then_report(
        REAL(cuImportExternalMemory),
        [&] { return request(DriverKind::kImported, kPeaklineExternal, number_of(*memory), 0); },
        memory,
        description);
}

DRIVER_CALL cuMemFree_v2(PeaklineAddress address) {
    return report_then_call(REAL(cuMemFree_v2), free_of(kPeaklineAddress, address), address);
}

DRIVER_CALL cuMemFreeHost(void* start) {
    return report_then_call(
        REAL(cuMemFreeHost), free_of(kPeaklineAddress, number_of(start)), start);
}

DRIVER_CALL cuMemHostUnregister(void* start) {
    return report_then_call(
        REAL(cuMemHostUnregister), free_of(kPeaklineAddress, number_of(start)), start);
}

DRIVER_CALL cuArrayDestroy(PeaklineHandle array) {
    return report_then_call(REAL(cuArrayDestroy), free_of(kPeaklineArray, number_of(array)), array);
}

DRIVER_CALL cuMipmappedArrayDestroy(PeaklineHandle array) {
    return report_then_call(
        REAL(cuMipmappedArrayDestroy), free_of(kPeaklineArray, number_of(array)), array);
}

DRIVER_CALL cuDestroyExternalMemory(PeaklineHandle memory) {
    return report_then_call(
        REAL(cuDestroyExternalMemory), free_of(kPeaklineExternal, number_of(memory)), memory);
}
}

}  // namespace peakline::driver
