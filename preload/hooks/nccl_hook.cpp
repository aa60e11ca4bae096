#include "nccl_hook.h"

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "allocator/capture/libraries/got_patch.h"
#include "allocator/record/recorder.h"

namespace peakline::preload {
namespace {

using Result = int;
using Handle = void*;
struct UniqueId {  // passed by value, on the stack
    char bytes[128];
};
// The first members of ncclConfig_t. Their offsets have never changed; `bytes` gives the size of
// the caller's version.
struct Config {
    size_t bytes;
    unsigned magic;
    unsigned version;
    int numbers[4];
    const char* net_name;
    int more_numbers[2];
    const char* communicator_name;
};
constexpr unsigned kConfigMagic = 0xcafebeef;

constexpr size_t kMostCommunicators = 256;
struct Known {
    std::atomic<Handle> communicator{nullptr};
    std::atomic<uint32_t> text{0};
};
// relaxed: threads read a slot only with a communicator that they got after it was written.
Known g_known[kMostCommunicators];
std::atomic<uint32_t> g_count{0};        // made so far
std::atomic<uint32_t> g_in_progress{0};  // calls of NCCL
std::atomic<uint32_t> g_last_text{0};    // of the call that began last
thread_local uint32_t g_text __attribute__((tls_model("initial-exec"))) = 0;
// The communicator of the group that ends on this thread.
thread_local uint32_t g_group_text __attribute__((tls_model("initial-exec"))) = 0;

uint32_t text_of(Handle communicator) {
    for (const Known& known : g_known) {
        if (communicator != nullptr &&
            known.communicator.load(std::memory_order_relaxed) == communicator) {
            return known.text.load(std::memory_order_relaxed);
        }
    }
    return 0;
}

void keep(Handle communicator, uint32_t text) {
    for (Known& known : g_known) {
        Handle free_slot = nullptr;
        if (communicator != nullptr && known.communicator.compare_exchange_strong(
                                           free_slot, communicator, std::memory_order_relaxed)) {
            known.text.store(text, std::memory_order_relaxed);
            return;
        }
    }
}

void forget(Handle communicator) {
    for (Known& known : g_known) {
        Handle found = communicator;
        if (communicator != nullptr) {
            known.communicator.compare_exchange_strong(found, nullptr, std::memory_order_relaxed);
        }
    }
}

class Use {
public:
    explicit Use(uint32_t text) : before_(g_text) {
        g_text = text;
        g_group_text = text != 0 ? text : g_group_text;
        g_last_text.store(text, std::memory_order_relaxed);
        g_in_progress.fetch_add(1, std::memory_order_relaxed);
    }
    ~Use() {
        g_in_progress.fetch_sub(1, std::memory_order_relaxed);
        g_text = before_;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

private:
    uint32_t before_;
};

// Text of a new communicator, from the arguments that create it.
uint32_t new_text(int rank, int rank_count, const Config* config) {
    const uint32_t number = g_count.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool has_name = config != nullptr && config->magic == kConfigMagic &&
                          config->bytes >= sizeof(Config) && config->communicator_name != nullptr;
    char rank_text[48] = "";
    if (rank >= 0) {
        snprintf(rank_text, sizeof rank_text, ", rank %d of %d", rank, rank_count);
    }
    char text[128];
    snprintf(text,
             sizeof text,
             "communicator %u%s%.48s%s",
             number,
             has_name ? " " : "",
             has_name ? config->communicator_name : "",
             rank_text);
    return record::Recorder::instance().table().intern_text(text);
}

// Hook of an NCCL function with the communicator as argument `index`. `number` makes each
// instance a separate type.
template <int number, size_t index, class... Arguments>
struct Led {
    static inline Result (*real)(Arguments...) = nullptr;

    static Result hook(Arguments... arguments) {
        const Use use(text_of(std::get<index>(std::tie(arguments...))));
        return real(arguments...);
    }
};
using Bytes = const void*;
using AllReduce = Led<0, 5, Bytes, void*, size_t, int, int, Handle, Handle>;
using ReduceScatter = Led<1, 5, Bytes, void*, size_t, int, int, Handle, Handle>;
using Broadcast = Led<2, 5, Bytes, void*, size_t, int, int, Handle, Handle>;
using Reduce = Led<3, 6, Bytes, void*, size_t, int, int, int, Handle, Handle>;
using AllGather = Led<4, 4, Bytes, void*, size_t, int, Handle, Handle>;
using Send = Led<5, 4, Bytes, size_t, int, int, Handle, Handle>;
using Receive = Led<6, 4, void*, size_t, int, int, Handle, Handle>;

Result (*g_group_end)() = nullptr;
Result (*g_init_rank)(Handle*, int, UniqueId, int) = nullptr;
Result (*g_init_rank_config)(Handle*, int, UniqueId, int, Config*) = nullptr;
Result (*g_init_rank_scalable)(Handle*, int, int, int, UniqueId*, Config*) = nullptr;
Result (*g_split)(Handle, int, int, Handle*, Config*) = nullptr;
Result (*g_destroy)(Handle) = nullptr;
Result (*g_abort)(Handle) = nullptr;

Result group_end_hook() {
    const Use use(g_group_text);
    return g_group_end();
}

template <class Make>
Result make(Handle* communicator, uint32_t text, Make real) {
    const Use use(text);
    const Result result = real();
    if (communicator != nullptr) {
        keep(*communicator, text);
    }
    return result;
}

Result init_rank_hook(Handle* communicator, int rank_count, UniqueId id, int rank) {
    return make(communicator, new_text(rank, rank_count, nullptr), [&] {
        return g_init_rank(communicator, rank_count, id, rank);
    });
}

Result init_rank_config_hook(
    Handle* communicator, int rank_count, UniqueId id, int rank, Config* config) {
    return make(communicator, new_text(rank, rank_count, config), [&] {
        return g_init_rank_config(communicator, rank_count, id, rank, config);
    });
}

Result init_rank_scalable_hook(
    Handle* communicator, int rank_count, int rank, int id_count, UniqueId* ids, Config* config) {
    return make(communicator, new_text(rank, rank_count, config), [&] {
        return g_init_rank_scalable(communicator, rank_count, rank, id_count, ids, config);
    });
}

// rank -1: the split assigns ranks, so members are known only after the call.
Result split_hook(Handle parent, int color, int key, Handle* communicator, Config* config) {
    return make(communicator, new_text(-1, 0, config), [&] {
        return g_split(parent, color, key, communicator, config);
    });
}

Result destroy_hook(Handle communicator) {
    forget(communicator);
    return g_destroy(communicator);
}

Result abort_hook(Handle communicator) {
    forget(communicator);
    return g_abort(communicator);
}

template <class Function>
void lead(const char* symbol, Function** real, Function* hook) {
    *real = reinterpret_cast<Function*>(capture::find_in_loaded("libnccl.so.2", symbol));
    if (*real != nullptr) {
        capture::redirect_imports(symbol, "", reinterpret_cast<void*>(hook));
    }
}

}  // namespace

void hook_nccl_slow() {
    lead("ncclAllReduce", &AllReduce::real, AllReduce::hook);
    lead("ncclReduceScatter", &ReduceScatter::real, ReduceScatter::hook);
    lead("ncclBroadcast", &Broadcast::real, Broadcast::hook);
    lead("ncclReduce", &Reduce::real, Reduce::hook);
    lead("ncclAllGather", &AllGather::real, AllGather::hook);
    lead("ncclSend", &Send::real, Send::hook);
    lead("ncclRecv", &Receive::real, Receive::hook);
    lead("ncclGroupEnd", &g_group_end, group_end_hook);
    lead("ncclCommInitRank", &g_init_rank, init_rank_hook);
    lead("ncclCommInitRankConfig", &g_init_rank_config, init_rank_config_hook);
    lead("ncclCommInitRankScalable", &g_init_rank_scalable, init_rank_scalable_hook);
    lead("ncclCommSplit", &g_split, split_hook);
    lead("ncclCommDestroy", &g_destroy, destroy_hook);
    lead("ncclCommAbort", &g_abort, abort_hook);
}

uint32_t communicator_in_use() {
    if (g_text != 0) {
        return g_text;
    }
    return g_in_progress.load(std::memory_order_relaxed) == 1
               ? g_last_text.load(std::memory_order_relaxed)
               : 0;
}

}  // namespace peakline::preload
