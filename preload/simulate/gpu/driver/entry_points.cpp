// Initialisation, versions, error texts, and cuGetProcAddress. The table of entry points by name
// and version is generated from cudaTypedefs.h. Private export tables are not provided.

#include <cstring>

#include "driver/driver_state.h"
#include "model/base/log.h"

// Rows {"cuMemAlloc", 3020, false, address} and {code, "CUDA_ERROR_...", ...}.
struct EntryPointRow {
    const char* name;
    int version;
    bool is_per_thread;
    void* address;
};
struct ErrorNameRow {
    int code;
    const char* name;
};
#include "driver_entry_points.inc"
#include "driver_error_names.inc"

namespace {

struct Lookup {
    const EntryPointRow* row = nullptr;
    bool is_name_known = false;
};

// The newest row that is not newer than the requested version.
Lookup look_up(const char* name, int version, bool is_per_thread) {
    Lookup lookup;
    for (const EntryPointRow& row : kEntryPoints) {
        if (row.is_per_thread != is_per_thread || std::strcmp(row.name, name) != 0) {
            continue;
        }
        lookup.is_name_known = true;
        const bool is_better = lookup.row == nullptr || row.version > lookup.row->version;
        if (row.version <= version && is_better) {
            lookup.row = &row;
        }
    }
    return lookup;
}

}  // namespace

SIMGPU_API CUresult cuInit(unsigned flags) {
    SIMGPU_REQUIRE(flags == 0);
    simgpu::World::note_use();
    return simgpu::World::instance().device_count() == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDriverGetVersion(int* version) {
    SIMGPU_REQUIRE_ONLY(version != nullptr);
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuGetProcAddress_v2(const char* name,
                                        void** function,
                                        int version,
                                        cuuint64_t flags,
                                        CUdriverProcAddressQueryResult* status) {
    SIMGPU_REQUIRE_ONLY(name != nullptr && function != nullptr);
    Lookup lookup;
    if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0) {
        lookup = look_up(name, version, true);
    }
    if (lookup.row == nullptr) {
        lookup = look_up(name, version, false);
    }
    *function = lookup.row == nullptr ? nullptr : lookup.row->address;
    if (status != nullptr) {
        *status = lookup.row != nullptr  ? CU_GET_PROC_ADDRESS_SUCCESS
                  : lookup.is_name_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                         : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    if (lookup.row == nullptr) {
        simgpu::log_message(2, "cuGetProcAddress: there is no %s at version %d", name, version);
    }
    return lookup.row != nullptr || status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

SIMGPU_API CUresult cuGetProcAddress(const char* name,
                                     void** function,
                                     int version,
                                     cuuint64_t flags) {
    return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

SIMGPU_API CUresult cuGetExportTable(const void** table, const CUuuid*) {
    SIMGPU_REQUIRE_ONLY(table != nullptr);
    *table = nullptr;
    return CUDA_ERROR_NOT_FOUND;
}

SIMGPU_API CUresult cuGetErrorName(CUresult error, const char** name) {
    SIMGPU_REQUIRE_ONLY(name != nullptr);
    for (const ErrorNameRow& row : kDriverErrorNames) {
        if (row.code == error) {
            *name = row.name;
            return CUDA_SUCCESS;
        }
    }
    *name = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_API CUresult cuGetErrorString(CUresult error, const char** text) {
    SIMGPU_REQUIRE_ONLY(text != nullptr);
    *text = peakline_sim_error_text(error);
    return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

SIMGPU_API CUresult cuProfilerStart() {
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuProfilerStop() {
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12090
// The simulated driver writes no log entries, so a registered callback is never called.
SIMGPU_API CUresult cuLogsRegisterCallback(CUlogsCallback function,
                                           void*,
                                           CUlogsCallbackHandle* callback) {
    SIMGPU_REQUIRE_ONLY(function != nullptr);
    if (callback != nullptr) {
        *callback = reinterpret_cast<CUlogsCallbackHandle>(function);
    }
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle) {
    return CUDA_SUCCESS;
}
#endif
