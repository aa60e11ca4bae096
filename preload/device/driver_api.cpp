#include "driver_api.h"

#include "preload/driver/driver_seam.h"

namespace peakline::preload {
namespace {

// Values from cuda.h.
enum PoolAttribute : int { kReservedNow = 5, kUsedNow = 7 };
enum GraphAttribute : int { kGraphUsedNow = 0, kGraphReservedNow = 2 };

// Written once, by the first caller. Concurrent writers write the same values.
struct Api {
    int (*mem_get_info)(size_t*, size_t*) = nullptr;
    int (*mem_get_address_range)(unsigned long long*, size_t*, unsigned long long) = nullptr;
    int (*ctx_get_device)(int*) = nullptr;
    int (*ctx_get_current)(void**) = nullptr;
    int (*device_get_mem_pool)(void**, int) = nullptr;
    int (*mem_pool_get_attribute)(void*, int, void*) = nullptr;
    int (*device_get_graph_mem_attribute)(int, int, void*) = nullptr;
    int (*stream_is_capturing)(void*, int*) = nullptr;
    int (*primary_ctx_get_state)(int, unsigned*, int*) = nullptr;
    int (*device_get_pci_bus_id)(char*, int, int) = nullptr;
    int (*thread_exchange_stream_capture_mode)(int*) = nullptr;
};
Api g_api;

template <class Function>
void find(const char* symbol, Function* function) {
    *function = reinterpret_cast<Function>(peakline_driver_function(symbol));
}

void* pointer_of(uint64_t handle) {
    return reinterpret_cast<void*>(handle);
}

}  // namespace

void find_driver_api_slow() {
    if (g_api.mem_get_info != nullptr) {
        return;
    }
    find("cuMemGetAddressRange_v2", &g_api.mem_get_address_range);
    find("cuCtxGetDevice", &g_api.ctx_get_device);
    find("cuCtxGetCurrent", &g_api.ctx_get_current);
    find("cuDeviceGetMemPool", &g_api.device_get_mem_pool);
    find("cuMemPoolGetAttribute", &g_api.mem_pool_get_attribute);
    find("cuDeviceGetGraphMemAttribute", &g_api.device_get_graph_mem_attribute);
    find("cuStreamIsCapturing", &g_api.stream_is_capturing);
    find("cuDevicePrimaryCtxGetState", &g_api.primary_ctx_get_state);
    find("cuDeviceGetPCIBusId", &g_api.device_get_pci_bus_id);
    find("cuThreadExchangeStreamCaptureMode", &g_api.thread_exchange_stream_capture_mode);
    find("cuMemGetInfo_v2", &g_api.mem_get_info);
}

std::optional<uint32_t> current_device() {
    int device = 0;
    if (g_api.ctx_get_device == nullptr || g_api.ctx_get_device(&device) != 0 || device < 0) {
        return std::nullopt;
    }
    return static_cast<uint32_t>(device);
}

uint64_t current_context() {
    void* context = nullptr;
    return g_api.ctx_get_current != nullptr && g_api.ctx_get_current(&context) == 0
               ? reinterpret_cast<uint64_t>(context)
               : 0;
}

std::optional<DeviceBytes> device_bytes() {
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    if (g_api.mem_get_info == nullptr || g_api.mem_get_info(&free_bytes, &total_bytes) != 0 ||
        total_bytes < free_bytes) {
        return std::nullopt;
    }
    return DeviceBytes{free_bytes, total_bytes};
}

std::optional<AddressRange> address_range(uint64_t address) {
    unsigned long long start = 0;
    size_t bytes = 0;
    if (g_api.mem_get_address_range == nullptr ||
        g_api.mem_get_address_range(&start, &bytes, address) != 0) {
        return std::nullopt;
    }
    return AddressRange{start, bytes};
}

uint64_t current_pool(uint32_t device) {
    void* pool = nullptr;
    return g_api.device_get_mem_pool != nullptr &&
                   g_api.device_get_mem_pool(&pool, static_cast<int>(device)) == 0
               ? reinterpret_cast<uint64_t>(pool)
               : 0;
}

std::optional<PoolBytes> pool_bytes(uint64_t pool) {
    PoolBytes bytes{};
    if (g_api.mem_pool_get_attribute == nullptr || pool == 0 ||
        g_api.mem_pool_get_attribute(pointer_of(pool), kReservedNow, &bytes.reserved_bytes) != 0 ||
        g_api.mem_pool_get_attribute(pointer_of(pool), kUsedNow, &bytes.used_bytes) != 0) {
        return std::nullopt;
    }
    return bytes;
}

std::optional<PoolBytes> graph_bytes(uint32_t device) {
    const auto ask = g_api.device_get_graph_mem_attribute;
    const int number = static_cast<int>(device);
    PoolBytes bytes{};
    if (ask == nullptr || ask(number, kGraphReservedNow, &bytes.reserved_bytes) != 0 ||
        ask(number, kGraphUsedNow, &bytes.used_bytes) != 0) {
        return std::nullopt;
    }
    return bytes;
}

// The legacy stream cannot be queried while another stream captures; it does not capture then.
bool is_capturing(uint64_t stream) {
    int status = 0;
    return g_api.stream_is_capturing != nullptr &&
           g_api.stream_is_capturing(pointer_of(stream), &status) == 0 && status != 0;
}

bool has_primary_context(uint32_t device) {
    unsigned flags = 0;
    int is_active = 1;
    return g_api.primary_ctx_get_state == nullptr ||
           g_api.primary_ctx_get_state(static_cast<int>(device), &flags, &is_active) != 0 ||
           is_active != 0;
}

bool pci_bus_of(uint32_t device, char* text, size_t room) {
    const auto ask = g_api.device_get_pci_bus_id;
    return ask != nullptr && ask(text, static_cast<int>(room), static_cast<int>(device)) == 0;
}

CaptureAllowance::CaptureAllowance() {
    constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
    mode_ = kRelaxed;
    if (g_api.thread_exchange_stream_capture_mode != nullptr) {
        g_api.thread_exchange_stream_capture_mode(&mode_);
    }
}

CaptureAllowance::~CaptureAllowance() {
    if (g_api.thread_exchange_stream_capture_mode != nullptr) {
        g_api.thread_exchange_stream_capture_mode(&mode_);
    }
}

}  // namespace peakline::preload
