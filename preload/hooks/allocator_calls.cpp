#include "allocator_calls.h"

#include <algorithm>
#include <cstddef>

#include "allocator/capture/libraries/got_patch.h"
#include "allocator/record/recorder.h"

namespace peakline::preload {
namespace {

using format::AllocatorAction;
using record::LockGuard;
using record::Recorder;

// More pools than this are recorded, but not restated.
constexpr size_t kMostPools = 256;

struct KnownPool {
    uint64_t pool = 0;
    uint64_t device = 0;
    uint64_t owners = 0;    // releases still to come
    uint64_t routings = 0;  // begun and not ended; each is an owner
    bool has_own_allocator = false;
    bool serves_others = false;
    bool is_never_split = false;
};

struct StandingCalls {
    KnownPool pools[kMostPools];
    size_t pool_count = 0;
    uint64_t captures[record::kMaxDevices] = {};
    uint64_t fractions[record::kMaxDevices] = {};  // bits; 0: not set
    uint32_t settings = 0;                         // string; 0: those of the start

    KnownPool* find(uint64_t pool, uint64_t device) {
        KnownPool* const end = pools + pool_count;
        KnownPool* const found = std::find_if(pools, end, [&](const KnownPool& known) {
            return known.pool == pool && known.device == device;
        });
        return found != end ? found : nullptr;
    }
    // nullptr when there is no room.
    KnownPool* find_or_add(uint64_t pool, uint64_t device) {
        KnownPool* const found = find(pool, device);
        if (found != nullptr || pool_count == kMostPools) {
            return found;
        }
        pools[pool_count] = KnownPool{pool, device};
        return &pools[pool_count++];
    }
    void note(const format::AllocatorCall& call);

private:
    void release(KnownPool* known);
};

struct Calls {
    record::LeafLock lock;
    StandingCalls standing;  // Guarded by lock.
};
constinit Calls g_calls;

void StandingCalls::release(KnownPool* known) {
    known->owners -= known->owners != 0 ? 1 : 0;
    if (known->owners == 0) {
        *known = pools[--pool_count];
    }
}

void StandingCalls::note(const format::AllocatorCall& call) {
    const bool begins = call.action == AllocatorAction::kPoolCreated ||
                        call.action == AllocatorAction::kRoutingBegun;
    KnownPool* const known =
        begins ? find_or_add(call.pool, call.device) : find(call.pool, call.device);
    switch (call.action) {
        case AllocatorAction::kFractionSet:
            fractions[call.device] = call.value;
            return;
        case AllocatorAction::kCaptureBegun:
            ++captures[call.device];
            return;
        case AllocatorAction::kCaptureEnded:
            captures[call.device] -= captures[call.device] != 0 ? 1 : 0;
            return;
        default:
            break;
    }
    if (known == nullptr) {
        return;
    }
    switch (call.action) {
        case AllocatorAction::kPoolCreated:
            ++known->owners;
            known->has_own_allocator = known->has_own_allocator || call.value != 0;
            break;
        case AllocatorAction::kRoutingBegun:
            ++known->owners;
            ++known->routings;
            break;
        case AllocatorAction::kRoutingEnded:
            known->routings -= known->routings != 0 ? 1 : 0;
            break;
        case AllocatorAction::kPoolReleased:
            release(known);
            break;
        case AllocatorAction::kServingSet:
            known->serves_others = call.value != 0;
            break;
        case AllocatorAction::kSplittingEnded:
            known->is_never_split = true;
            break;
        default:
            break;
    }
}

void record(AllocatorAction action, uint64_t device, uint64_t pool = 0, uint64_t value = 0) {
    Recorder::instance().record(format::AllocatorCall{action, device, pool, value});
}

void restate(const KnownPool& known) {
    const uint64_t value = known.has_own_allocator ? 1 : 0;
    for (uint64_t i = known.routings; i < known.owners; ++i) {
        record(AllocatorAction::kPoolCreated, known.device, known.pool, value);
    }
    for (uint64_t i = 0; i < known.routings; ++i) {
        record(AllocatorAction::kRoutingBegun, known.device, known.pool);
    }
    if (known.serves_others) {
        record(AllocatorAction::kServingSet, known.device, known.pool, 1);
    }
    if (known.is_never_split) {
        record(AllocatorAction::kSplittingEnded, known.device, known.pool);
    }
}

}  // namespace

void allocator_called(uint32_t action, int device, uint64_t pool, uint64_t value) {
    // -1: all devices.
    const auto number = static_cast<uint64_t>(device < 0 ? 0 : device);
    const format::AllocatorCall call{static_cast<AllocatorAction>(action), number, pool, value};
    if (number >= record::kMaxDevices) {
        return;
    }
    {
        const LockGuard guard(g_calls.lock);
        g_calls.standing.note(call);
    }
    Recorder::instance().record(call);
}

void settings_given(const char* settings) {
    const uint32_t string = Recorder::instance().table().intern_text(settings);
    {
        const LockGuard guard(g_calls.lock);
        g_calls.standing.settings = string;
    }
    Recorder::instance().record(format::AllocatorSettings{string});
}

void hook_settings(const torch_part::Part& part) {
    for (const torch_part::Redirection& wanted : part.settings) {
        if (wanted.symbol == nullptr || *wanted.real != nullptr) {
            continue;
        }
        for (const char* library : {"libc10.so", "libc10_cuda.so"}) {
            if (*wanted.real == nullptr) {
                *wanted.real = capture::find_in_loaded(library, wanted.symbol);
            }
        }
        if (*wanted.real != nullptr) {
            capture::redirect_imports(wanted.symbol, wanted.library, wanted.replacement);
        }
    }
}

void restate_allocator_calls() {
    StandingCalls standing;
    {
        const LockGuard guard(g_calls.lock);
        standing = g_calls.standing;
    }
    if (standing.settings != 0) {
        Recorder::instance().record(format::AllocatorSettings{standing.settings});
    }
    for (uint64_t device = 0; device < record::kMaxDevices; ++device) {
        if (standing.fractions[device] != 0) {
            record(AllocatorAction::kFractionSet, device, 0, standing.fractions[device]);
        }
    }
    std::for_each_n(standing.pools, standing.pool_count, restate);
    for (uint64_t device = 0; device < record::kMaxDevices; ++device) {
        for (uint64_t i = 0; i < standing.captures[device]; ++i) {
            record(AllocatorAction::kCaptureBegun, device);
        }
    }
}

void prepare_fork_allocator_calls() {
    g_calls.lock.lock();
}
void parent_after_fork_allocator_calls() {
    g_calls.lock.unlock();
}
void child_after_fork_allocator_calls() {
    g_calls.lock.reset_after_fork();
}

}  // namespace peakline::preload
