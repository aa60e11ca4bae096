// The functions of peakline_api.h about the program's objects. The extension module calls them;
// they pass facts to the recorder and to pyhook.
#include <algorithm>
#include <cstring>
#include <vector>

#include "allocator/capture/stack_capture.h"
#include "allocator/record/recorder.h"
#include "preload/hooks/torch_hooks.h"
#include "preload/peakline_api.h"

#define PEAKLINE_EXPORT __attribute__((visibility("default")))

using peakline::capture::object_side;
using peakline::format::TensorKind;
using peakline::preload::torch_part_slot;
using peakline::record::Recorder;
using peakline::torch_part::TensorType;

namespace {

uint32_t intern(const TensorType& type) {
    return type.dtype == nullptr ? 0
                                 : Recorder::instance().table().intern_tensor_type(
                                       type.dtype, type.sizes, type.size_count);
}

// Empty if the part compiled against torch is missing.
TensorType type_of(uint64_t tensor_impl) {
    const auto tensor_type = torch_part_slot().tensor_type;
    return tensor_type == nullptr || tensor_impl == 0 ? TensorType{} : tensor_type(tensor_impl);
}

}  // namespace

// Buffers are sized once, for the needs of every step.
struct PeaklineGradients {
    std::vector<uint64_t> tensors;
    std::vector<uint32_t> ids;
    std::vector<uint64_t> addresses;
    std::vector<Recorder::ReportedTensor> reported;
};

extern "C" {

PEAKLINE_EXPORT void peakline_watch_methods(const uint64_t* codes, size_t count) {
    object_side().watch_methods(codes, count);
}

PEAKLINE_EXPORT uint64_t peakline_own_instance() {
    return object_side().own_instance();
}

PEAKLINE_EXPORT uint32_t peakline_name_instance(uint64_t address,
                                                const char* class_name,
                                                const char* root,
                                                const char* path) {
    peakline::record::StackTable& table = Recorder::instance().table();
    const uint32_t id = object_side().instance_id(table, address);
    if (id != 0) {
        table.report_instance(
            {id, table.intern_text(class_name), table.intern_text(root), table.intern_text(path)});
    }
    return id;
}

PEAKLINE_EXPORT int32_t peakline_knows_instance(uint64_t address) {
    return object_side().knows_instance(address) ? 1 : 0;
}

PEAKLINE_EXPORT int32_t peakline_learn_finalizer(uint64_t kind, uint64_t finalizer) {
    return object_side().learn_finalizer(kind, finalizer) ? 1 : 0;
}

PEAKLINE_EXPORT int32_t peakline_watch_class(uint64_t kind) {
    return object_side().watch_class(kind) ? 1 : 0;
}

PEAKLINE_EXPORT uint64_t peakline_watch_object(uint64_t address) {
    return object_side().watch_object(address);
}

PEAKLINE_EXPORT int32_t peakline_is_object_alive(uint64_t address, uint64_t number) {
    return object_side().is_object_alive(address, number) ? 1 : 0;
}

PEAKLINE_EXPORT uint32_t peakline_define_tensor(uint32_t kind,
                                                const char* name,
                                                const char* detail,
                                                uint32_t instance) {
    peakline::record::StackTable& table = Recorder::instance().table();
    return table.intern_tensor({static_cast<peakline::format::TensorKind>(kind),
                                table.intern_text(name),
                                table.intern_text(detail),
                                instance});
}

PEAKLINE_EXPORT uint32_t peakline_tensor_type(uint64_t object) {
    return intern(type_of(peakline_tensor_of_object(object)));
}

PEAKLINE_EXPORT size_t peakline_report_tensors(uint32_t kind,
                                               const PeaklineReportedTensor* tensors,
                                               size_t count) {
    constexpr size_t kAtOnce = 128;
    Recorder::ReportedTensor reported[kAtOnce];
    size_t unknown_count = 0;
    for (size_t done = 0; done < count;) {
        size_t some = 0;
        for (; some < kAtOnce && done < count; ++some, ++done) {
            reported[some] = {tensors[done].address,
                              tensors[done].tensor,
                              static_cast<TensorKind>(kind),
                              tensors[done].type};
        }
        unknown_count += Recorder::instance().report_tensors(reported, some);
    }
    return unknown_count;
}

PEAKLINE_EXPORT void peakline_report_inputs(uint32_t instance,
                                            const uint64_t* addresses,
                                            size_t count) {
    Recorder::instance().report_inputs(instance, addresses, count);
}

PEAKLINE_EXPORT PeaklineGradients* peakline_follow_gradients(const PeaklineParameter* parameters,
                                                             size_t count) {
    if (torch_part_slot().gradient_storages == nullptr) {
        return nullptr;
    }
    auto* gradients = new PeaklineGradients{};
    for (size_t i = 0; i < count; ++i) {
        gradients->tensors.push_back(parameters[i].tensor_impl);
        gradients->ids.push_back(parameters[i].gradient);
    }
    gradients->addresses.resize(count);
    gradients->reported.reserve(count);
    return gradients;
}

PEAKLINE_EXPORT int32_t peakline_report_gradients(PeaklineGradients* gradients) {
    std::vector<Recorder::ReportedTensor>& reported = gradients->reported;
    torch_part_slot().gradient_storages(
        gradients->tensors.data(), gradients->tensors.size(), gradients->addresses.data());
    reported.clear();
    for (size_t i = 0; i < gradients->ids.size(); ++i) {
        if (gradients->addresses[i] != 0) {
            const uint32_t type = intern(torch_part_slot().gradient_type(gradients->tensors[i]));
            reported.push_back(
                {gradients->addresses[i], gradients->ids[i], TensorKind::kGradient, type});
        }
    }
    const auto of_address = [](const Recorder::ReportedTensor& reported_one) {
        return reported_one.address;
    };
    std::ranges::sort(reported, {}, of_address);
    if (std::ranges::adjacent_find(reported, {}, of_address) != reported.end()) {
        return 0;
    }
    Recorder::instance().report_tensors(reported.data(), reported.size());
    return 1;
}

PEAKLINE_EXPORT void peakline_forget_gradients(PeaklineGradients* gradients) {
    delete gradients;
}

PEAKLINE_EXPORT uint64_t peakline_block_count() {
    return Recorder::instance().block_count();
}

PEAKLINE_EXPORT void peakline_report_made_tensors(uint64_t first_block,
                                                  const uint64_t* tensor_impls,
                                                  size_t count) {
    // No heap: this runs at every operator.
    constexpr size_t kAtOnce = 16;
    for (size_t done = 0; done < count;) {
        Recorder::MadeTensor made[kAtOnce];
        size_t made_count = 0;
        for (; done < count && made_count < kAtOnce; ++done) {
            const TensorType type = type_of(tensor_impls[done]);
            if (const uint32_t id = intern(type)) {
                made[made_count++] = {type.storage, id};
            }
        }
        Recorder::instance().report_made_tensors(first_block, made, made_count);
    }
}

PEAKLINE_EXPORT void peakline_safe_point(uint32_t reason) {
    object_side().run_safe_point(static_cast<peakline::capture::SafePoint>(reason));
}

PEAKLINE_EXPORT void peakline_put_meta(const char* key, const char* value) {
    Recorder::instance().put_meta(key, value, strlen(value));
}

}  // extern "C"
