// Calls the real driver function and reports the result. Used by driver_*.cpp.
#pragma once

#include <cstdint>
#include <type_traits>

#include "allocator/record/format/events.h"
#include "driver_calls.h"
#include "driver_seam.h"
#include "entry_points.h"

namespace peakline::driver {

inline constexpr Result kSuccess = 0;
inline constexpr Result kOutOfMemory = 2;     // CUDA_ERROR_OUT_OF_MEMORY
inline constexpr Result kNotInitialised = 3;  // CUDA_ERROR_NOT_INITIALIZED

// Depth of driver calls on this thread. It has no destructor, because calls also come while the
// process ends.
extern __thread int g_depth __attribute__((tls_model("initial-exec")));

// For all threads. Upper bits: calls begun so far. Lower bits: calls still running.
inline constexpr uint64_t kBegunCall = uint64_t{1} << 16U;
extern uint64_t g_calls;

// True for the outermost call: calls that the driver makes itself are not reported.
class Outermost {
public:
    Outermost() {
        if (++g_depth == 1) {
            __atomic_add_fetch(&g_calls, kBegunCall + 1, __ATOMIC_ACQ_REL);
        }
    }
    ~Outermost() {
        if (--g_depth == 0) {
            __atomic_sub_fetch(&g_calls, 1, __ATOMIC_ACQ_REL);
        }
    }
    Outermost(const Outermost&) = delete;
    Outermost& operator=(const Outermost&) = delete;
    explicit operator bool() const { return g_depth == 1; }
};

void report_before();
void report(const PeaklineDriverEvent& event);

template <class Function>
Function real(Entry entry, Function) {
    return reinterpret_cast<Function>(real_function(entry));
}

enum class Around { kNothing, kSample };

// Reports after success: a failed call leaves no valid arguments. If `describe` takes the result,
// out-of-memory is reported, too. kSample: the device's free memory may change by more than the
// request.
template <Around around = Around::kNothing, class Function, class Describe, class... Arguments>
Result call_then_report(Function function, Describe describe, Arguments... arguments) {
    if (function == nullptr) {
        return kNotInitialised;
    }
    const Outermost is_outermost;
    if (!is_outermost) {
        return function(arguments...);
    }
    if constexpr (around == Around::kSample) {
        report_before();
    }
    const Result result = function(arguments...);
    if constexpr (std::is_invocable_v<Describe, Result>) {
        if (result == kSuccess || result == kOutOfMemory) {
            report(describe(result));
        }
    } else if (result == kSuccess) {
        report(describe());
    }
    return result;
}

// For an event that is fully known before the call.
template <class Function, class... Arguments>
Result call_then_sample(Function function, PeaklineDriverEvent event, Arguments... arguments) {
    return call_then_report<Around::kSample>(function, [&event] { return event; }, arguments...);
}

// Reports first: another thread may get the same address at once.
template <class Function, class... Arguments>
Result report_then_call(Function function, PeaklineDriverEvent event, Arguments... arguments) {
    if (function == nullptr) {
        return kNotInitialised;
    }
    const Outermost is_outermost;
    if (!is_outermost) {
        return function(arguments...);
    }
    report(event);
    const Result result = function(arguments...);
    event.call = event.call == kPeaklineFree ? kPeaklineFreed : kPeaklineContextGone;
    report(event);
    return result;
}

inline PeaklineDriverEvent request(format::DriverKind kind,
                                   PeaklineKeySpace space,
                                   uint64_t key,
                                   uint64_t bytes) {
    PeaklineDriverEvent event{};
    event.call = kPeaklineRequest;
    event.space = space;
    event.kind = static_cast<uint64_t>(kind);
    event.key = key;
    event.bytes = bytes;
    event.device = kPeaklineCurrentDevice;
    return event;
}

inline PeaklineDriverEvent free_of(PeaklineKeySpace space, uint64_t key, uint64_t bytes = 0) {
    PeaklineDriverEvent event{};
    event.call = kPeaklineFree;
    event.space = space;
    event.key = key;
    event.bytes = bytes;
    event.device = kPeaklineCurrentDevice;
    return event;
}

inline PeaklineDriverEvent happening(PeaklineDriverCall call,
                                     int device = kPeaklineCurrentDevice,
                                     uint64_t key = 0) {
    PeaklineDriverEvent event{};
    event.call = call;
    event.key = key;
    event.device = device;
    return event;
}

inline uint64_t number_of(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}

#define REAL(symbol) real(Entry::k_##symbol, &::symbol)

}  // namespace peakline::driver
