// Stream-ordered memory, and physical memory that the program maps itself.
#include "reporting.h"

namespace peakline::driver {

using format::DriverKind;

namespace {

// The common beginning of CUmemAllocationProp and CUmemPoolProps.
struct LocatedProperties {
    int type;
    int handle_types;
    int location_type;
    int location;
};
constexpr int kOnDevice = 1;  // CU_MEM_LOCATION_TYPE_DEVICE

PeaklineDriverEvent asynchronous(PeaklineAddress address,
                                 size_t bytes,
                                 PeaklineHandle pool,
                                 PeaklineHandle stream) {
    PeaklineDriverEvent event = request(DriverKind::kAsync, kPeaklineAddress, address, bytes);
    event.owner = number_of(pool);
    event.stream = number_of(stream);
    event.is_asynchronous = 1;
    return event;
}

PeaklineDriverEvent free_later(PeaklineAddress address, PeaklineHandle stream) {
    PeaklineDriverEvent event = free_of(kPeaklineAddress, address);
    event.stream = number_of(stream);
    event.is_asynchronous = 1;
    return event;
}

PeaklineDriverEvent request_at_location(const void* properties,
                                        DriverKind kind,
                                        DriverKind kind_elsewhere,
                                        PeaklineKeySpace space,
                                        uint64_t key,
                                        uint64_t bytes) {
    const auto& located = *static_cast<const LocatedProperties*>(properties);
    const bool is_on_device = located.location_type == kOnDevice;
    PeaklineDriverEvent event = request(is_on_device ? kind : kind_elsewhere, space, key, bytes);
    event.device = is_on_device ? located.location : kPeaklineCurrentDevice;
    return event;
}

}  // namespace

extern "C" {

DRIVER_CALL cuMemAllocAsync(PeaklineAddress* address, size_t bytes, PeaklineHandle stream) {
    return call_then_report(
        REAL(cuMemAllocAsync),
        [&] { return asynchronous(*address, bytes, nullptr, stream); },
        address,
        bytes,
        stream);
}

DRIVER_CALL cuMemAllocAsync_ptsz(PeaklineAddress* address, size_t bytes, PeaklineHandle stream) {
    return call_then_report(
        REAL(cuMemAllocAsync_ptsz),
        [&] { return asynchronous(*address, bytes, nullptr, stream); },
        address,
        bytes,
        stream);
}

DRIVER_CALL cuMemAllocFromPoolAsync(PeaklineAddress* address,
                                    size_t bytes,
                                    PeaklineHandle pool,
                                    PeaklineHandle stream) {
    return call_then_report(
        REAL(cuMemAllocFromPoolAsync),
        [&] { return asynchronous(*address, bytes, pool, stream); },
        address,
        bytes,
        pool,
        stream);
}

DRIVER_CALL cuMemAllocFromPoolAsync_ptsz(PeaklineAddress* address,
                                         size_t bytes,
                                         PeaklineHandle pool,
                                         PeaklineHandle stream) {
    return call_then_report(
        REAL(cuMemAllocFromPoolAsync_ptsz),
        [&] { return asynchronous(*address, bytes, pool, stream); },
        address,
        bytes,
        pool,
        stream);
}

DRIVER_CALL cuMemFreeAsync(PeaklineAddress address, PeaklineHandle stream) {
    return report_then_call(REAL(cuMemFreeAsync), free_later(address, stream), address, stream);
}

DRIVER_CALL cuMemFreeAsync_ptsz(PeaklineAddress address, PeaklineHandle stream) {
    return report_then_call(
        REAL(cuMemFreeAsync_ptsz), free_later(address, stream), address, stream);
}

DRIVER_CALL cuMemPoolCreate(PeaklineHandle* pool, const void* properties) {
    return call_then_report(
        REAL(cuMemPoolCreate),
        [&] {
            return request_at_location(properties,
                                       DriverKind::kPool,
                                       DriverKind::kPool,
                                       kPeaklinePool,
                                       number_of(*pool),
                                       0);
        },
        pool,
        properties);
}

DRIVER_CALL cuMemPoolDestroy(PeaklineHandle pool) {
    return report_then_call(REAL(cuMemPoolDestroy), free_of(kPeaklinePool, number_of(pool)), pool);
}

DRIVER_CALL cuMemPoolTrimTo(PeaklineHandle pool, size_t bytes) {
    return call_then_report<Around::kSample>(
        REAL(cuMemPoolTrimTo),
        [&] { return happening(kPeaklineTrim, kPeaklineCurrentDevice, number_of(pool)); },
        pool,
        bytes);
}

DRIVER_CALL cuDeviceGraphMemTrim(int device) {
    return call_then_report<Around::kSample>(
        REAL(cuDeviceGraphMemTrim), [&] { return happening(kPeaklineTrim, device); }, device);
}

DRIVER_CALL cuMemCreate(PeaklineAddress* handle,
                        size_t bytes,
                        const void* properties,
                        unsigned long long flags) {
    // Torch requests each piece of an expandable segment. Only here is a refusal visible.
    return call_then_report<Around::kSample>(
        REAL(cuMemCreate),
        [&](Result result) {
            PeaklineDriverEvent event = request_at_location(properties,
                                                            DriverKind::kPhysical,
                                                            DriverKind::kPhysicalHost,
                                                            kPeaklineHandle,
                                                            result == kSuccess ? *handle : 0,
                                                            bytes);
            event.call = result == kSuccess ? kPeaklineRequest : kPeaklineRefused;
            return event;
        },
        handle,
        bytes,
        properties,
        flags);
}

// The memory bound to it is counted where it was created.
DRIVER_CALL cuMulticastCreate(PeaklineAddress* handle, const void* properties) {
    return call_then_report(
        REAL(cuMulticastCreate),
        [&] { return request(DriverKind::kMulticast, kPeaklineHandle, *handle, 0); },
        handle,
        properties);
}

DRIVER_CALL cuMemRetainAllocationHandle(PeaklineAddress* handle, void* address) {
    return call_then_report(
        REAL(cuMemRetainAllocationHandle),
        [&] { return happening(kPeaklineReference, kPeaklineCurrentDevice, *handle); },
        handle,
        address);
}

DRIVER_CALL cuMemRelease(PeaklineAddress handle) {
    return report_then_call(REAL(cuMemRelease), free_of(kPeaklineHandle, handle), handle);
}

DRIVER_CALL cuMemMap(PeaklineAddress address,
                     size_t bytes,
                     size_t offset,
                     PeaklineAddress handle,
                     unsigned long long flags) {
    return call_then_report(
        REAL(cuMemMap),
        [&] {
            PeaklineDriverEvent event =
                request(DriverKind::kMapping, kPeaklineMapping, address, bytes);
            event.owner = handle;
            return event;
        },
        address,
        bytes,
        offset,
        handle,
        flags);
}

DRIVER_CALL cuMemUnmap(PeaklineAddress address, size_t bytes) {
    return report_then_call(
        REAL(cuMemUnmap), free_of(kPeaklineMapping, address, bytes), address, bytes);
}
}

}  // namespace peakline::driver
