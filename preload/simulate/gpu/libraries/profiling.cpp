// CUPTI: a profiler may subscribe and enable activities. No activity ever happens, so no buffer is
// requested or delivered.

#include <cupti.h>

#include "model/base/support.h"

namespace {

CUptiResult require(bool condition) {
    return condition ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

}  // namespace

SIMGPU_API CUptiResult cuptiGetVersion(uint32_t* version) {
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
    *text = result == CUPTI_SUCCESS               ? "CUPTI_SUCCESS"
            : result == CUPTI_ERROR_NOT_SUPPORTED ? "CUPTI_ERROR_NOT_SUPPORTED"
                                                  : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** text) {
    return cuptiGetResultString(result, text);
}

SIMGPU_API CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber,
                                      CUpti_CallbackFunc,
                                      void*) {
    *subscriber = static_cast<CUpti_SubscriberHandle>(peakline_sim_new_handle(0));
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
    peakline_sim_free_handle(subscriber);
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiEnableCallback(uint32_t,
                                           CUpti_SubscriberHandle subscriber,
                                           CUpti_CallbackDomain,
                                           CUpti_CallbackId) {
    return require(subscriber != nullptr);
}

SIMGPU_API CUptiResult cuptiEnableDomain(uint32_t,
                                         CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain) {
    return require(subscriber != nullptr);
}

SIMGPU_API CUptiResult cuptiFinalize() {
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivityEnable(CUpti_ActivityKind) {
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivityDisable(CUpti_ActivityKind) {
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId, uint8_t) {
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId, uint8_t) {
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc,
                                                      CUpti_BuffersCallbackCompleteFunc) {
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc) {
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivityFlushAll(uint32_t) {
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivityGetNextRecord(uint8_t*, size_t, CUpti_Activity** record) {
    *record = nullptr;
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
}

SIMGPU_API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* count) {
    *count = 0;
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind,
                                                              uint64_t) {
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind,
                                                             uint64_t* last_id) {
    if (last_id != nullptr) {
        *last_id = 0;
    }
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t*, void*) {
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t) {
    return CUPTI_SUCCESS;
}

SIMGPU_API CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t, const char** name) {
    *name = "unknown";
    return CUPTI_SUCCESS;
}
