// The listener, and the start of the recorder at the first use of device memory.
#include "reporting.h"

// Null in libpeakline.so: only the preloaded library has it.
#pragma weak peakline_driver_first_use

namespace peakline::driver {
namespace {

const PeaklineDriverListener* g_listener = nullptr;
void (*g_on_first_use)() = peakline_driver_first_use;

const PeaklineDriverListener* listener() {
    return __atomic_load_n(&g_listener, __ATOMIC_ACQUIRE);
}

bool begins_use(const PeaklineDriverEvent& event) {
    return event.call == kPeaklineRequest || event.call == kPeaklineContext;
}

}  // namespace

uint64_t g_calls = 0;
__thread int g_depth __attribute__((tls_model("initial-exec"))) = 0;

void report_before() {
    if (const PeaklineDriverListener* const to = listener()) {
        to->before();
    }
}

void report(const PeaklineDriverEvent& event) {
    const PeaklineDriverListener* to = listener();
    if (to == nullptr && begins_use(event)) {
        void (*const first)() = __atomic_exchange_n(&g_on_first_use, nullptr, __ATOMIC_ACQ_REL);
        if (first != nullptr) {
            first();
            to = listener();
        }
    }
    if (to != nullptr) {
        to->on_event(&event);
    }
}

}  // namespace peakline::driver

extern "C" {

__attribute__((visibility("default"))) void peakline_driver_listen(
    const PeaklineDriverListener* listener) {
    __atomic_store_n(&peakline::driver::g_listener, listener, __ATOMIC_RELEASE);
}

__attribute__((visibility("default"))) int32_t peakline_driver_is_calling() {
    return peakline::driver::g_depth;
}

__attribute__((visibility("default"))) PeaklineDriverCalls peakline_driver_calls() {
    const uint64_t calls = __atomic_load_n(&peakline::driver::g_calls, __ATOMIC_ACQUIRE);
    return {calls / peakline::driver::kBegunCall, calls % peakline::driver::kBegunCall};
}
}
