#include "process_bytes.h"

#include <atomic>

#include <dlfcn.h>
#include <unistd.h>

#include "driver_api.h"

namespace peakline::preload {
namespace {

constexpr unsigned kMostProcesses = 256;
constexpr uint64_t kNotAvailable = ~uint64_t{0};

// nvmlProcessInfo_t of the functions with the suffix _v3.
struct Process {
    unsigned process_id;
    unsigned long long used_bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
};

struct Nvml {
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    int (*handle_by_bus)(const char*, void**) = nullptr;
    int (*compute_processes)(void*, unsigned*, Process*) = nullptr;

    bool is_whole() const {
        return init != nullptr && shutdown != nullptr && handle_by_bus != nullptr &&
               compute_processes != nullptr;
    }
};

enum class Found : int { kUnknown, kNo, kYes };

// Written once, before g_found is set.
Nvml g_nvml;
std::atomic<Found> g_found{Found::kUnknown};

template <class Function>
void find(void* library, const char* symbol, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, symbol));
}

bool find_nvml(NvmlUse use) {
    const Found known = g_found.load(std::memory_order_acquire);
    if (known != Found::kUnknown) {
        return known == Found::kYes;
    }
    const int mode = RTLD_LAZY | (use == NvmlUse::kIfLoaded ? RTLD_NOLOAD : 0);
    void* const library = dlopen("libnvidia-ml.so.1", mode);
    if (library == nullptr) {
        return false;
    }
    Nvml nvml;
    find(library, "nvmlInit_v2", &nvml.init);
    find(library, "nvmlShutdown", &nvml.shutdown);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml.handle_by_bus);
    find(library, "nvmlDeviceGetComputeRunningProcesses_v3", &nvml.compute_processes);
    const bool is_usable = nvml.is_whole();
    g_nvml = nvml;
    g_found.store(is_usable ? Found::kYes : Found::kNo, std::memory_order_release);
    return is_usable;
}

// NVML opens files of the driver at initialisation, with descriptors of the program. If the program
// uses NVML, they are already open; at the end of the process they are closed again. NVML counts
// its users, so closing ours does not end the program's.
class NvmlScope {
public:
    explicit NvmlScope(NvmlUse use)
        : is_ours_(use == NvmlUse::kLoad && find_nvml(use) && g_nvml.init() == 0) {}
    ~NvmlScope() {
        if (is_ours_) {
            g_nvml.shutdown();
        }
    }
    NvmlScope(const NvmlScope&) = delete;
    NvmlScope& operator=(const NvmlScope&) = delete;

private:
    bool is_ours_;
};

}  // namespace

std::optional<ProcessBytes> process_bytes_slow(uint32_t device, NvmlUse use) {
    char bus[32];
    void* handle = nullptr;
    Process processes[kMostProcesses];
    unsigned count = kMostProcesses;
    const NvmlScope scope(use);
    if (!find_nvml(use) || !pci_bus_of(device, bus, sizeof bus) ||
        g_nvml.handle_by_bus(bus, &handle) != 0 ||
        g_nvml.compute_processes(handle, &count, processes) != 0) {
        return std::nullopt;
    }
    ProcessBytes bytes{};
    const auto own_id = static_cast<unsigned>(getpid());
    for (unsigned i = 0; i < count; ++i) {
        const Process& process = processes[i];
        if (process.used_bytes == kNotAvailable) {
            return std::nullopt;
        }
        const bool is_own = process.process_id == own_id;
        (is_own ? bytes.own_bytes : bytes.other_bytes) += process.used_bytes;
        bytes.other_count += is_own ? 0 : 1;
    }
    return bytes;
}

}  // namespace peakline::preload
