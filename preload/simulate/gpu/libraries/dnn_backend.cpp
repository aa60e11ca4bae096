// The cuDNN backend descriptors, on which the graph interface is built. A descriptor returns the
// attributes set on it. For every operation graph there is one engine, which supports it and needs
// no workspace; real workspaces are undocumented.

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include <cudnn.h>

#include "model/base/support.h"

namespace {

struct StoredAttribute {
    cudnnBackendAttributeType_t type = CUDNN_TYPE_HANDLE;
    int64_t count = 0;
    std::vector<unsigned char> bytes;
};

struct Descriptor {
    cudnnBackendDescriptorType_t type;
    std::map<int, StoredAttribute> attributes;
};

Descriptor* to_descriptor(void* handle) {
    return static_cast<Descriptor*>(handle);
}

size_t element_bytes(cudnnBackendAttributeType_t type) {
    switch (type) {
        case CUDNN_TYPE_INT64:
        case CUDNN_TYPE_DOUBLE:
        case CUDNN_TYPE_VOID_PTR:
        case CUDNN_TYPE_HANDLE:
        case CUDNN_TYPE_BACKEND_DESCRIPTOR:
            return 8;
        case CUDNN_TYPE_CHAR:
        case CUDNN_TYPE_BOOLEAN:
            return 1;
        case CUDNN_TYPE_FRACTION:
            return 16;
        default:
            return 4;
    }
}

// Returns descriptors by copying them into descriptors of the caller.
void give_descriptors(const StoredAttribute& stored, int64_t count, void* values) {
    auto* const targets = static_cast<void**>(values);
    const auto* const sources = reinterpret_cast<void* const*>(stored.bytes.data());
    for (int64_t index = 0; index < count; ++index) {
        if (targets[index] != nullptr && sources[index] != nullptr) {
            *to_descriptor(targets[index]) = *to_descriptor(sources[index]);
        }
    }
}

void give_stored(const StoredAttribute& stored,
                 int64_t wanted_count,
                 int64_t* found_count,
                 void* values) {
    const int64_t given_count = std::min(wanted_count, stored.count);
    if (values != nullptr && given_count > 0) {
        if (stored.type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
            give_descriptors(stored, given_count, values);
        } else {
            std::memcpy(values,
                        stored.bytes.data(),
                        static_cast<size_t>(given_count) * element_bytes(stored.type));
        }
    }
    if (found_count != nullptr) {
        *found_count = stored.count;
    }
}

void give_number(int64_t value, int64_t wanted_count, int64_t* found_count, void* values) {
    if (values != nullptr && wanted_count > 0) {
        *static_cast<int64_t*>(values) = value;
    }
    if (found_count != nullptr) {
        *found_count = 1;
    }
}

// Turns the caller's descriptor into the one engine configuration.
void give_engine_configuration(int64_t wanted_count, int64_t* found_count, void* values) {
    if (values != nullptr && wanted_count > 0) {
        if (Descriptor* const target = to_descriptor(*static_cast<void**>(values))) {
            target->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
        }
    }
    if (found_count != nullptr) {
        *found_count = 1;
    }
}

}  // namespace

SIMGPU_API cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                      cudnnBackendDescriptor_t* descriptor) {
    if (descriptor == nullptr) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    *descriptor = new Descriptor{type, {}};
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
    delete to_descriptor(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t) {
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                                  cudnnBackendAttributeName_t name,
                                                  cudnnBackendAttributeType_t type,
                                                  int64_t count,
                                                  const void* values) {
    if (descriptor == nullptr || (values == nullptr && count != 0)) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    const auto* const start = static_cast<const unsigned char*>(values);
    const size_t bytes = static_cast<size_t>(count) * element_bytes(type);
    to_descriptor(descriptor)->attributes[name] = {type, count, {start, start + bytes}};
    return CUDNN_STATUS_SUCCESS;
}

SIMGPU_API cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                                                  cudnnBackendAttributeName_t name,
                                                  cudnnBackendAttributeType_t,
                                                  int64_t wanted_count,
                                                  int64_t* found_count,
                                                  void* values) {
    if (descriptor == nullptr) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    const auto& attributes = to_descriptor(descriptor)->attributes;
    if (const auto stored = attributes.find(name); stored != attributes.end()) {
        give_stored(stored->second, wanted_count, found_count, values);
        return CUDNN_STATUS_SUCCESS;
    }
    switch (name) {
        case CUDNN_ATTR_ENGINEHEUR_RESULTS:
            give_engine_configuration(wanted_count, found_count, values);
            return CUDNN_STATUS_SUCCESS;
        case CUDNN_ATTR_ENGINECFG_ENGINE:
            if (found_count != nullptr) {
                *found_count = 1;  // the caller's engine descriptor is returned unchanged
            }
            return CUDNN_STATUS_SUCCESS;
        case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
            give_number(1, wanted_count, found_count, values);
            return CUDNN_STATUS_SUCCESS;
#if CUDNN_VERSION >= 90200
        case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
            if (values != nullptr && wanted_count > 0) {
                *static_cast<int32_t*>(values) = 0;
            }
            if (found_count != nullptr) {
                *found_count = 1;
            }
            return CUDNN_STATUS_SUCCESS;
        case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
#endif
        case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
        case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
            give_number(0, wanted_count, found_count, values);
            return CUDNN_STATUS_SUCCESS;
        default:
            if (found_count != nullptr) {
                *found_count = 0;
            }
            return CUDNN_STATUS_SUCCESS;
    }
}

SIMGPU_API cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                             cudnnBackendDescriptor_t,
                                             cudnnBackendDescriptor_t) {
    peakline_sim_work_on_handle(handle);
    return CUDNN_STATUS_SUCCESS;
}
