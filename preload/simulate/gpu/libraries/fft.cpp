// cuFFT: a plan is a number, and a table holds its stream. Work areas have size zero: the real
// sizes depend on the transform and are undocumented.

#include <map>
#include <mutex>

#include <cufft.h>
#include <cufftXt.h>

#include "model/base/fork_safe_mutex.h"
#include "model/base/support.h"

namespace {

struct Plans {
    simgpu::ForkSafeMutex mutex;
    std::map<cufftHandle, cudaStream_t> streams;  // Guarded by mutex.
    cufftHandle next = 1;                         // Guarded by mutex.
};

Plans& plans() {
    static auto* const plans = new Plans;
    return *plans;
}

cufftResult work(cufftHandle plan) {
    cudaStream_t stream = nullptr;
    {
        const std::lock_guard guard(plans().mutex);
        const auto found = plans().streams.find(plan);
        if (found == plans().streams.end()) {
            return CUFFT_INVALID_PLAN;
        }
        stream = found->second;
    }
    peakline_sim_work_on_stream(stream);
    return CUFFT_SUCCESS;
}

}  // namespace

SIMGPU_API cufftResult cufftCreate(cufftHandle* plan) {
    const std::lock_guard guard(plans().mutex);
    *plan = plans().next++;
    plans().streams[*plan] = nullptr;
    return CUFFT_SUCCESS;
}

SIMGPU_API cufftResult cufftDestroy(cufftHandle plan) {
    const std::lock_guard guard(plans().mutex);
    return plans().streams.erase(plan) != 0 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

SIMGPU_API cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream) {
    const std::lock_guard guard(plans().mutex);
    const auto found = plans().streams.find(plan);
    if (found == plans().streams.end()) {
        return CUFFT_INVALID_PLAN;
    }
    found->second = stream;
    return CUFFT_SUCCESS;
}

SIMGPU_API cufftResult cufftXtExec(cufftHandle plan, void*, void*, int) {
    return work(plan);
}

SIMGPU_API cufftResult cufftExecC2C(cufftHandle plan, cufftComplex*, cufftComplex*, int) {
    return work(plan);
}

SIMGPU_API cufftResult cufftExecR2C(cufftHandle plan, cufftReal*, cufftComplex*) {
    return work(plan);
}

SIMGPU_API cufftResult cufftExecC2R(cufftHandle plan, cufftComplex*, cufftReal*) {
    return work(plan);
}
