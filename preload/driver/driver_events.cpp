// Driver calls that take memory of the device without stating how much: contexts, code, graphs,
// limits. Also the driver's own symbol lookup.
#include "reporting.h"

namespace peakline::driver {

extern "C" {

DRIVER_CALL cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
    const auto real_call = REAL(cuGetProcAddress);
    const Result result =
        real_call != nullptr ? real_call(name, function, version, flags) : kNotInitialised;
    if (result == kSuccess && name != nullptr && function != nullptr) {
        *function = answer_for(name, version, flags, *function, __builtin_return_address(0));
    }
    return result;
}

DRIVER_CALL cuGetProcAddress_v2(
    const char* name, void** function, int version, uint64_t flags, int* status) {
    const auto real_call = REAL(cuGetProcAddress_v2);
    const Result result =
        real_call != nullptr ? real_call(name, function, version, flags, status) : kNotInitialised;
    if (result == kSuccess && name != nullptr && function != nullptr) {
        *function = answer_for(name, version, flags, *function, __builtin_return_address(0));
    }
    return result;
}

DRIVER_CALL cuCtxCreate_v2(PeaklineHandle* context, unsigned flags, int device) {
    return call_then_sample(
        REAL(cuCtxCreate_v2), happening(kPeaklineContext, device), context, flags, device);
}

DRIVER_CALL cuCtxCreate_v3(
    PeaklineHandle* context, void* affinity, int count, unsigned flags, int device) {
    return call_then_sample(REAL(cuCtxCreate_v3),
                            happening(kPeaklineContext, device),
                            context,
                            affinity,
                            count,
                            flags,
                            device);
}

DRIVER_CALL cuCtxCreate_v4(PeaklineHandle* context, void* parameters, unsigned flags, int device) {
    return call_then_sample(REAL(cuCtxCreate_v4),
                            happening(kPeaklineContext, device),
                            context,
                            parameters,
                            flags,
                            device);
}

DRIVER_CALL cuCtxDestroy_v2(PeaklineHandle context) {
    return report_then_call(
        REAL(cuCtxDestroy_v2),
        happening(kPeaklineContextEnd, kPeaklineCurrentDevice, number_of(context)),
        context);
}

DRIVER_CALL cuDevicePrimaryCtxRetain(PeaklineHandle* context, int device) {
    return call_then_report<Around::kSample>(
        REAL(cuDevicePrimaryCtxRetain),
        [&] { return happening(kPeaklineContext, device, number_of(*context)); },
        context,
        device);
}

DRIVER_CALL cuDevicePrimaryCtxRelease(int device) {
    return call_then_sample(
        REAL(cuDevicePrimaryCtxRelease), happening(kPeaklineDeviceRelease, device), device);
}

DRIVER_CALL cuDevicePrimaryCtxRelease_v2(int device) {
    return call_then_sample(
        REAL(cuDevicePrimaryCtxRelease_v2), happening(kPeaklineDeviceRelease, device), device);
}

DRIVER_CALL cuDevicePrimaryCtxReset(int device) {
    return report_then_call(
        REAL(cuDevicePrimaryCtxReset), happening(kPeaklineDeviceReset, device), device);
}

DRIVER_CALL cuDevicePrimaryCtxReset_v2(int device) {
    return report_then_call(
        REAL(cuDevicePrimaryCtxReset_v2), happening(kPeaklineDeviceReset, device), device);
}

DRIVER_CALL cuModuleLoad(PeaklineHandle* module, const char* file) {
    return call_then_sample(REAL(cuModuleLoad), happening(kPeaklineModule), module, file);
}

DRIVER_CALL cuModuleLoadData(PeaklineHandle* module, const void* image) {
    return call_then_sample(REAL(cuModuleLoadData), happening(kPeaklineModule), module, image);
}

DRIVER_CALL cuModuleLoadDataEx(
    PeaklineHandle* module, const void* image, unsigned count, int* options, void** values) {
    return call_then_sample(REAL(cuModuleLoadDataEx),
                            happening(kPeaklineModule),
                            module,
                            image,
                            count,
                            options,
                            values);
}

DRIVER_CALL cuModuleLoadFatBinary(PeaklineHandle* module, const void* binary) {
    return call_then_sample(
        REAL(cuModuleLoadFatBinary), happening(kPeaklineModule), module, binary);
}

DRIVER_CALL cuModuleUnload(PeaklineHandle module) {
    return call_then_sample(REAL(cuModuleUnload), happening(kPeaklineModule), module);
}

// The parameters are those of CUDA. NOLINTNEXTLINE(readability-function-size)
DRIVER_CALL cuLibraryLoadData(PeaklineHandle* library,
                              const void* code,
                              int* jit_options,
                              void** jit_values,
                              unsigned jit_count,
                              int* options,
                              void** values,
                              unsigned count) {
    return call_then_sample(REAL(cuLibraryLoadData),
                            happening(kPeaklineModule),
                            library,
                            code,
                            jit_options,
                            jit_values,
                            jit_count,
                            options,
                            values,
                            count);
}

// The parameters are those of CUDA. NOLINTNEXTLINE(readability-function-size)
DRIVER_CALL cuLibraryLoadFromFile(PeaklineHandle* library,
                                  const char* file,
                                  int* jit_options,
                                  void** jit_values,
                                  unsigned jit_count,
                                  int* options,
                                  void** values,
                                  unsigned count) {
    return call_then_sample(REAL(cuLibraryLoadFromFile),
                            happening(kPeaklineModule),
                            library,
                            file,
                            jit_options,
                            jit_values,
                            jit_count,
                            options,
                            values,
                            count);
}

DRIVER_CALL cuLibraryUnload(PeaklineHandle library) {
    return call_then_sample(REAL(cuLibraryUnload), happening(kPeaklineModule), library);
}

DRIVER_CALL cuCtxSetLimit(int limit, size_t value) {
    return call_then_sample(REAL(cuCtxSetLimit), happening(kPeaklineLimit), limit, value);
}

DRIVER_CALL cuGraphInstantiateWithFlags(PeaklineHandle* executable,
                                        PeaklineHandle graph,
                                        unsigned long long flags) {
    return call_then_sample(
        REAL(cuGraphInstantiateWithFlags), happening(kPeaklineGraph), executable, graph, flags);
}

DRIVER_CALL cuGraphInstantiateWithParams(PeaklineHandle* executable,
                                         PeaklineHandle graph,
                                         void* parameters) {
    return call_then_sample(REAL(cuGraphInstantiateWithParams),
                            happening(kPeaklineGraph),
                            executable,
                            graph,
                            parameters);
}

DRIVER_CALL cuGraphInstantiateWithParams_ptsz(PeaklineHandle* executable,
                                              PeaklineHandle graph,
                                              void* parameters) {
    return call_then_sample(REAL(cuGraphInstantiateWithParams_ptsz),
                            happening(kPeaklineGraph),
                            executable,
                            graph,
                            parameters);
}

DRIVER_CALL cuGraphExecDestroy(PeaklineHandle executable) {
    return call_then_sample(REAL(cuGraphExecDestroy), happening(kPeaklineGraph), executable);
}
}

}  // namespace peakline::driver
