// Memory of other processes: the calls that make handles for them, and the calls that open those.
// Memory that was opened counts in its own process only.
#include <cstring>

#include <sys/stat.h>

#include "reporting.h"

namespace peakline::driver {

using format::DriverKind;

namespace {

// CUmemAllocationHandleType
constexpr int kFileDescriptor = 1;
constexpr int kFabric = 8;

uint64_t number_of_bytes(const void* bytes, size_t count) {
    uint64_t hash = 14695981039346656037U;  // FNV-1a
    for (size_t i = 0; i < count; ++i) {
        hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 1099511628211U;
    }
    return hash != 0 ? hash : 1;
}

// NVIDIA's descriptors all refer to one character device, so they have no number.
uint64_t number_of_file(int file) {
    struct stat state {};
    if (fstat(file, &state) != 0 || !S_ISREG(state.st_mode)) {
        return 0;
    }
    const uint64_t parts[] = {state.st_dev, state.st_ino};
    return number_of_bytes(parts, sizeof parts);
}

// Contents of CUmemFabricHandle.
uint64_t number_of_fabric(const void* handle) {
    return number_of_bytes(handle, sizeof(IpcHandle));
}

PeaklineDriverEvent exported(PeaklineKeySpace space, uint64_t key, uint64_t shared_number) {
    PeaklineDriverEvent event = happening(kPeaklineExported, kPeaklineCurrentDevice, key);
    event.space = space;
    event.shared_number = shared_number;
    return event;
}

PeaklineDriverEvent opened(PeaklineKeySpace space, uint64_t key, uint64_t shared_number) {
    PeaklineDriverEvent event = request(DriverKind::kImported, space, key, 0);
    event.shared_number = shared_number;
    return event;
}

}  // namespace

extern "C" {

DRIVER_CALL cuIpcGetMemHandle(IpcHandle* handle, PeaklineAddress address) {
    return call_then_report(
        REAL(cuIpcGetMemHandle),
        [&] {
            return exported(kPeaklineAddress, address, number_of_bytes(handle, sizeof *handle));
        },
        handle,
        address);
}

DRIVER_CALL cuIpcOpenMemHandle_v2(PeaklineAddress* address, IpcHandle handle, unsigned flags) {
    return call_then_report(
        REAL(cuIpcOpenMemHandle_v2),
        [&] { return opened(kPeaklineAddress, *address, number_of_bytes(&handle, sizeof handle)); },
        address,
        handle,
        flags);
}

DRIVER_CALL cuIpcCloseMemHandle(PeaklineAddress address) {
    return report_then_call(REAL(cuIpcCloseMemHandle), free_of(kPeaklineAddress, address), address);
}

DRIVER_CALL cuMemExportToShareableHandle(void* shareable,
                                         PeaklineAddress handle,
                                         int type,
                                         unsigned long long flags) {
    return call_then_report(
        REAL(cuMemExportToShareableHandle),
        [&] {
            int file = -1;
            if (type == kFileDescriptor) {
                memcpy(&file, shareable, sizeof file);
            }
            return exported(kPeaklineHandle,
                            handle,
                            type == kFabric ? number_of_fabric(shareable) : number_of_file(file));
        },
        shareable,
        handle,
        type,
        flags);
}

DRIVER_CALL cuMemImportFromShareableHandle(PeaklineAddress* handle, void* shareable, int type) {
    return call_then_report(
        REAL(cuMemImportFromShareableHandle),
        [&] {
            const auto file = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
            return opened(kPeaklineHandle,
                          *handle,
                          type == kFabric           ? number_of_fabric(shareable)
                          : type == kFileDescriptor ? number_of_file(file)
                                                    : 0);
        },
        handle,
        shareable,
        type);
}
}

}  // namespace peakline::driver
