#include "routing.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <pthread.h>

#include "delegate.h"

namespace peakline::torch_part {
namespace {

struct Route {
    int device;
    uint64_t pool;
    std::function<bool(cudaStream_t)> filter;
};
using Routes = std::vector<Route>;

// The list is replaced, never changed: filters call CUDA, so they run without the lock.
struct RoutingState {
    std::mutex mutex;
    std::shared_ptr<const Routes> routes = std::make_shared<Routes>();  // Guarded by mutex.
    std::vector<uint64_t> own_allocator_pools;                          // Guarded by mutex.
    // relaxed: a thread begins its own routing before it reads this.
    std::atomic<bool> has_routes{false};
};

// Never destroyed: segments come and go until the very end of the process.
RoutingState& state() {
    static auto* const only = new RoutingState;
    // A child made while another thread holds the mutex would wait for ever.
    [[maybe_unused]] static const int watched = pthread_atfork([] { state().mutex.lock(); },
                                                               [] { state().mutex.unlock(); },
                                                               [] { state().mutex.unlock(); });
    return *only;
}

template <class Change>
void change_routes(Change change) {
    RoutingState& all = state();
    const std::lock_guard guard(all.mutex);
    auto changed = std::make_shared<Routes>(*all.routes);
    change(*changed);
    all.has_routes.store(!changed->empty(), std::memory_order_relaxed);
    all.routes = std::move(changed);
}

// The last of several routings counts, as in torch.
uint64_t pool_of_request(int device, uint64_t stream) {
    RoutingState& all = state();
    if (!all.has_routes.load(std::memory_order_relaxed)) {
        return 0;
    }
    std::shared_ptr<const Routes> routes;
    {
        const std::lock_guard guard(all.mutex);
        routes = all.routes;
    }
    try {
        const auto found = std::find_if(routes->rbegin(), routes->rend(), [&](const Route& route) {
            return route.device == device && route.filter(reinterpret_cast<cudaStream_t>(stream));
        });
        return found != routes->rend() ? found->pool : 0;
    } catch (const std::exception&) {
        return 0;  // torch has just called the same filter, and would have thrown there
    }
}

// c10::CachingAllocator::AcceleratorAllocatorConfig::parseArgs(const std::string&), which torch's
// Python calls for new settings; and its counterpart in older versions.
constexpr char kParseSymbol[] =
    "_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig9parseArgsERKNSt7__cxx1112basic_"
    "stringIcSt11char_traitsIcESaIcEEE";
constexpr char kSetSymbol[] =
    "_ZN3c104cuda20CUDACachingAllocator20setAllocatorSettingsERKNSt7__cxx1112basic_"
    "stringIcSt11char_traitsIcESaIcEEE";
constexpr char kCallers[] = "libtorch_python";

// Set once before the imports are redirected.
const Host* g_host = nullptr;
void* g_real_parse = nullptr;
void* g_real_set = nullptr;

// torch throws for settings that it does not accept; these are not reported.
void parse_hook(void* config, const std::string& settings) {
    reinterpret_cast<void (*)(void*, const std::string&)>(g_real_parse)(config, settings);
    g_host->settings_given(settings.c_str());
}

void set_hook(const std::string& settings) {
    reinterpret_cast<void (*)(const std::string&)>(g_real_set)(settings);
    g_host->settings_given(settings.c_str());
}

}  // namespace

void begin_routing(int device,
                   const c10::MempoolId_t& pool,
                   const std::function<bool(cudaStream_t)>& filter) {
    change_routes([&](Routes& routes) { routes.push_back({device, number_of(pool), filter}); });
}

void end_routing(int device, const c10::MempoolId_t& pool) {
    const uint64_t number = number_of(pool);
    change_routes([&](Routes& routes) {
        const auto found = std::find_if(routes.begin(), routes.end(), [&](const Route& route) {
            return route.device == device && route.pool == number;
        });
        if (found != routes.end()) {
            routes.erase(found);
        }
    });
}

uint64_t note_pool(const c10::MempoolId_t& pool, bool has_own_allocator) {
    if (!has_own_allocator) {
        return 0;
    }
    attach_tracker_once();
    RoutingState& all = state();
    const std::lock_guard guard(all.mutex);
    all.own_allocator_pools.push_back(number_of(pool));
    return 1;
}

bool has_own_allocator(const c10::MempoolId_t& pool) {
    RoutingState& all = state();
    const std::lock_guard guard(all.mutex);
    const auto& pools = all.own_allocator_pools;
    return std::find(pools.begin(), pools.end(), number_of(pool)) != pools.end();
}

void offer_routing(const Host& host, Part* part) {
    g_host = &host;
    part->pool_of_request = pool_of_request;
    part->settings[0] =
        Redirection{kCallers, kParseSymbol, reinterpret_cast<void*>(parse_hook), &g_real_parse};
    part->settings[1] =
        Redirection{kCallers, kSetSymbol, reinterpret_cast<void*>(set_hook), &g_real_set};
}

}  // namespace peakline::torch_part
