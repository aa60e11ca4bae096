// Implements `--blank-weights`: large CPU tensors with random values use no memory. Compiled
// against torch and loaded when torch is imported.
//
// Note [Blank tensors]
// A model built on the CPU fills its weights once with random numbers and then copies them to the
// device, where a simulated run has no numbers. So the fill is skipped: the tensor's pages are
// returned to the kernel and read as zero. A tensor with a blank storage is remembered as blank.
// Copying it to another large tensor (for example of another type) is skipped, too. All other
// operators read zeros and write normally. Storages not owned by torch (files, NumPy), views and
// small tensors are excluded. preload/simulate/python/_peakline_simulated/blank_weights.py loads
// this library. A skipped fill does not advance the random number generator.

#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <ATen/ATen.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/normal_native.h>
#include <ATen/ops/uniform_native.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <torch/library.h>
#include <unistd.h>

#include "preload/simulate/gpu/model/base/fork_safe_mutex.h"

namespace peakline::simulated {
namespace {

constexpr size_t kLeastBytes = 16 << 20;

using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;

// Blank storages. A weak pointer keeps the address of the StorageImpl from being reused, so no
// other storage can match it.
class BlankStorages {
public:
    void add(const c10::Storage& storage) {
        const std::scoped_lock guard(lock_);
        if (blank_.size() >= next_cleaning_) {
            std::erase_if(blank_, [](const auto& entry) { return entry.second.expired(); });
            next_cleaning_ = 2 * blank_.size() + 1000;
        }
        blank_.try_emplace(storage.unsafeGetStorageImpl(),
                           WeakStorage(storage.getWeakStorageImpl()));
    }

    bool has(const c10::Storage& storage) {
        const std::scoped_lock guard(lock_);
        return blank_.count(storage.unsafeGetStorageImpl()) != 0;
    }

private:
    simgpu::ForkSafeMutex lock_;
    std::unordered_map<const c10::StorageImpl*, WeakStorage> blank_;
    size_t next_cleaning_ = 1000;
};

BlankStorages& blank_storages() {
    static BlankStorages* const storages = new BlankStorages;  // tensors may outlive static objects
    return *storages;
}

// Whether a tensor covers all of a large storage of torch's own CPU allocator.
bool may_be_blank(const at::Tensor& tensor) {
    if (!tensor.device().is_cpu() || !tensor.has_storage() ||
        !at::isFloatingType(tensor.scalar_type()) || !tensor.is_non_overlapping_and_dense()) {
        return false;
    }
    const c10::Storage& storage = tensor.storage();
    const size_t bytes = storage.nbytes();
    return bytes >= kLeastBytes && tensor.nbytes() == bytes &&
           storage.data_ptr().get_deleter() == c10::GetDefaultCPUAllocator()->raw_deleter();
}

void make_blank(const at::Tensor& tensor) {
    const c10::Storage& storage = tensor.storage();
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    char* const begin = static_cast<char*>(storage.mutable_data());
    char* const end = begin + storage.nbytes();
    char* const first_page = begin + (page - reinterpret_cast<size_t>(begin) % page) % page;
    char* const last_page = end - reinterpret_cast<size_t>(end) % page;
    const auto whole = static_cast<size_t>(last_page - first_page);
    // Without this, the zeros at each end would take a huge page.
    madvise(first_page, whole, MADV_NOHUGEPAGE);
    if (madvise(first_page, whole, MADV_DONTNEED) != 0) {
        std::memset(first_page, 0, whole);
    }
    std::memset(begin, 0, static_cast<size_t>(first_page - begin));
    std::memset(last_page, 0, static_cast<size_t>(end - last_page));
    blank_storages().add(storage);
}

bool is_blank(const at::Tensor& tensor) {
    return tensor.device().is_cpu() && tensor.has_storage() &&
           tensor.storage().nbytes() >= kLeastBytes && blank_storages().has(tensor.storage());
}

using Generator = std::optional<at::Generator>;

at::Tensor& normal(at::Tensor& self, double mean, double deviation, Generator generator) {
    if (!may_be_blank(self)) {
        return at::native::normal_(self, mean, deviation, std::move(generator));
    }
    make_blank(self);
    return self;
}

at::Tensor& uniform(at::Tensor& self, double from, double to, Generator generator) {
    if (!may_be_blank(self)) {
        return at::native::uniform_(self, from, to, std::move(generator));
    }
    make_blank(self);
    return self;
}

at::Tensor& copy(at::Tensor& self, const at::Tensor& source, bool is_non_blocking) {
    if (!may_be_blank(self) || !is_blank(source) || self.sizes() != source.sizes()) {
        return at::native::copy_(self, source, is_non_blocking);
    }
    make_blank(self);
    return self;
}

// A handler that drops warnings: torch would warn the user that kernels are replaced.
class NoWarnings : public c10::WarningHandler {
public:
    void process(const c10::Warning&) override {}
};

__attribute__((constructor)) void replace_kernels() {
    NoWarnings none;
    const c10::WarningUtils::WarningHandlerGuard guard(&none);
    // Never destroyed: tensors are filled until the process ends.
    auto* const kernels =
        new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__);
    kernels->impl("normal_", TORCH_FN(normal));
    kernels->impl("uniform_", TORCH_FN(uniform));
    kernels->impl("copy_", TORCH_FN(copy));
}

}  // namespace
}  // namespace peakline::simulated

// The Python part uses it to recognise large tensors.
extern "C" __attribute__((visibility("default"))) size_t peakline_least_blank_bytes() {
    return peakline::simulated::kLeastBytes;
}
