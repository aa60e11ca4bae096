#include "operator_info.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include <ATen/core/enum_tag.h>

#include "preload/simulate/gpu/model/base/fork_safe_mutex.h"

namespace peakline::simulated {
namespace {

constexpr std::array kFindsSize = {"aten::nonzero",
                                   "aten::masked_select",
                                   "aten::_unique2",
                                   "aten::_unique",
                                   "aten::unique_dim",
                                   "aten::unique_consecutive",
                                   "aten::unique_dim_consecutive",
                                   "aten::repeat_interleave",
                                   "aten::bincount"};

// Operators that are not computed: costly on the host without deciding anything, or about storage
// rather than values.
constexpr std::array kNotComputed = {"aten::mm",
                                     "aten::addmm",
                                     "aten::bmm",
                                     "aten::baddbmm",
                                     "aten::addmv",
                                     "aten::dot",
                                     "aten::vdot",
                                     "aten::mv",
                                     "aten::_unsafe_view",
                                     "aten::set_",
                                     "aten::resize_",
                                     "aten::resize_as_",
                                     "aten::empty",
                                     "aten::empty_like",
                                     "aten::new_empty",
                                     "aten::record_stream"};
constexpr std::array kNotComputedParts = {
    "conv", "fft", "linalg", "attention", "_cudnn", "lstm", "empty_strided", "_pack", "native_"};

constexpr std::array kCopies = {"aten::copy_",
                                "aten::_to_copy",
                                "aten::_local_scalar_dense",
                                "aten::clone",
                                "aten::_pin_memory",
                                "aten::pin_memory"};
// Programs use these to learn the size that other ranks will send next.
constexpr std::array kAwaitsOthers = {"aten::sum", "aten::max", "aten::amax"};
constexpr std::array kOverwrites = {
    "aten::copy_", "aten::fill_", "aten::zero_", "aten::_foreach_copy_", "aten::_foreach_zero_"};

constexpr std::array kMayOverwrite = {
    "aten::scatter_", "aten::index_put_", "aten::_index_put_impl_", "aten::index_copy_"};
constexpr std::array kChecks = {"aten::isfinite", "aten::_is_all_true", "aten::all"};
constexpr std::array kMakesZeros = {
    "aten::zeros", "aten::zeros_like", "aten::new_zeros", "aten::zero_"};

template <size_t kCount>
bool is_one_of(const std::array<const char*, kCount>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool may_compute(const OperatorInfo& info) {
    const std::string_view name = info.name;
    if (!info.is_leaf || is_one_of(kNotComputed, name) ||
        info.handle->hasTag(at::Tag::nondeterministic_seeded)) {
        return false;
    }
    const auto contains = [name](const char* part) { return name.find(part) != name.npos; };
    return std::none_of(kNotComputedParts.begin(), kNotComputedParts.end(), contains);
}

void read_schema(OperatorInfo* info) {
    const c10::OperatorHandle& handle = *info->handle;
    bool returns_view = info->name == "aten::_unsafe_view";
    for (const c10::Argument& argument : handle.schema().arguments()) {
        const c10::AliasInfo* const alias = argument.alias_info();
        const bool is_written = alias != nullptr && alias->isWrite();
        info->writes.push_back(is_written);
        info->only_writes.push_back(is_written &&
                                    (argument.kwarg_only() || is_one_of(kOverwrites, info->name)));
    }
    for (const c10::Argument& result : handle.schema().returns()) {
        const c10::AliasInfo* const alias = result.alias_info();
        returns_view = returns_view || (alias != nullptr && !alias->isWrite());
    }
    const bool has_kernel =
        handle.hasKernelForDispatchKey(c10::DispatchKey::CUDA) ||
        handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
        handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
    info->is_composite =
        handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
    // Other operators (collectives, extensions) are left to the device: it checks the pointers of
    // their launches, and knows which data a collective delivers.
    const bool is_torchs_own = info->name.compare(0, 6, "aten::") == 0;
    info->is_leaf = is_torchs_own && has_kernel && !returns_view;
}

std::unique_ptr<OperatorInfo> make_info(const at::RecordFunction& function) {
    auto info = std::make_unique<OperatorInfo>();
    info->name = function.name();
    const std::optional<c10::OperatorName> name = function.operator_name();
    if (name.has_value()) {
        info->handle = c10::Dispatcher::singleton().findSchema(*name);
    }
    if (info->handle.has_value()) {
        read_schema(info.get());
        info->may_compute = may_compute(*info);
        info->makes_zeros = info->is_leaf && is_one_of(kMakesZeros, info->name);
        info->copies = is_one_of(kCopies, info->name);
        info->orders = info->name == "aten::sort";
        info->chooses = info->name == "aten::topk";
        info->may_overwrite = is_one_of(kMayOverwrite, info->name);
        info->may_check = is_one_of(kChecks, info->name);
        info->awaits_others = is_one_of(kAwaitsOthers, info->name);
        info->finds_size = is_one_of(kFindsSize, info->name);
        info->reads_result = info->finds_size || info->name == "aten::equal";
    }
    return info;
}

}  // namespace

namespace {

const OperatorInfo& look_up(const at::RecordFunction& function) {
    static auto* const mutex = new simgpu::ForkSafeMutex;
    static auto* const known = new std::unordered_map<const void*, std::unique_ptr<OperatorInfo>>;
    const void* const key = function.name();
    {
        const std::lock_guard lock(*mutex);
        const auto found = known->find(key);
        if (found != known->end()) {
            return *found->second;
        }
    }
    auto info = make_info(function);
    const std::lock_guard lock(*mutex);
    return *known->try_emplace(key, std::move(info)).first->second;
}

// The operators that this thread ran recently, by name.
struct Recent {
    const void* name = nullptr;
    const OperatorInfo* info = nullptr;
};
constexpr size_t kRecentCount = 256;
thread_local Recent t_recent[kRecentCount];

}  // namespace

// The address of the name identifies one overload: it belongs to a schema that is never freed.
const OperatorInfo& operator_info(const at::RecordFunction& function) {
    const void* const name = function.name();
    Recent& recent = t_recent[(reinterpret_cast<uintptr_t>(name) >> 5) % kRecentCount];
    if (recent.name != name) {
        recent = {name, &look_up(function)};
    }
    return *recent.info;
}

}  // namespace peakline::simulated
