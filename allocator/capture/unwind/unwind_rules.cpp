#include "unwind_rules.h"

#include <link.h>

#include "allocator/capture/libraries/loader_counts.h"
#include "allocator/capture/libraries/loader_walk.h"
#include "allocator/record/hot_data.h"

namespace peakline::capture {

[[PEAKLINE_HOT_DATA]] constinit std::atomic<uint64_t> g_code_epoch{0};

namespace {

// The loader's answer about an address, and the number of libraries that it has unloaded.
struct LoaderAnswer {
    uint64_t address;
    uint64_t unload_count;
    bool is_loaded_code;
};

int read_unload_count(dl_phdr_info* info, size_t, void* data) {
    static_cast<LoaderAnswer*>(data)->unload_count = info->dlpi_subs;
    confirm_loader_words(info->dlpi_adds, info->dlpi_subs);
    return 1;
}

int find_address(dl_phdr_info* info, size_t, void* data) {
    auto* answer = static_cast<LoaderAnswer*>(data);
    answer->unload_count = info->dlpi_subs;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        const uint64_t start = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && answer->address - start < segment.p_memsz) {
            answer->is_loaded_code = true;
            return 1;
        }
    }
    return 0;
}

// Never lowers it: threads may query the loader in one order and arrive here in another.
uint64_t advance_epoch(uint64_t unload_count) {
    uint64_t epoch = g_code_epoch.load(std::memory_order_relaxed);
    // relaxed: nothing is published with the number, see g_code_epoch.
    while (epoch < unload_count &&
           !g_code_epoch.compare_exchange_weak(epoch, unload_count, std::memory_order_relaxed)) {
    }
    return epoch < unload_count ? unload_count : epoch;
}

// Writes one entry unless another thread is writing it.
void write_rule(RuleEntry& entry, uint64_t seen_key, uint64_t key, UnwindRule rule) {
    // relaxed: a claim reads no data of the last writer.
    if (seen_key == kBusyKey ||
        !entry.key.compare_exchange_strong(seen_key, kBusyKey, std::memory_order_relaxed)) {
        return;
    }
    // release: a reader that sees the new rule also sees that the old key is gone.
    std::atomic_thread_fence(std::memory_order_release);
    entry.rule.store(__builtin_bit_cast(uint64_t, rule), std::memory_order_relaxed);
    // release: a reader that sees the new key also sees the new rule.
    entry.key.store(key, std::memory_order_release);
}

// Uses a free entry, else one of a passed epoch, else the first: a rule in use comes back.
void keep_rule(uint64_t return_address, uint64_t epoch, UnwindRule rule) {
    const size_t home = rule_slot(return_address);
    RuleEntry* chosen = &g_rules[home];
    for (size_t probe = 0; probe < kMaxRuleProbes; ++probe) {
        RuleEntry& entry = g_rules[(home + probe) % kRuleTableEntries];
        const uint64_t key = entry.key.load(std::memory_order_relaxed);
        if (key == 0 || (key != kBusyKey && key >> 48U != (epoch & 0xffffU))) {
            chosen = &entry;
            break;
        }
    }
    write_rule(*chosen,
               chosen->key.load(std::memory_order_relaxed),
               rule_key(return_address, epoch),
               rule);
}

}  // namespace

uint64_t refresh_code_epoch_slow() {
    LoaderAnswer answer{};
    walk_loaded_objects_slow(read_unload_count, &answer);
    return advance_epoch(answer.unload_count);
}

UnwindRule find_rule_slow(uint64_t return_address, uint64_t epoch) {
    const uint64_t key = rule_key(return_address, epoch);
    const size_t home = rule_slot(return_address);
    UnwindRule rule;
    for (size_t probe = 1; probe < kMaxRuleProbes; ++probe) {
        if (read_rule(g_rules[(home + probe) % kRuleTableEntries], key, &rule)) {
            return rule;
        }
    }
    // The call ends at the return address: its last byte belongs to the caller even if the caller's
    // code ends with the call.
    LoaderAnswer answer{return_address - 1, 0, false};
    walk_loaded_objects_slow(find_address, &answer);
    if (advance_epoch(answer.unload_count) != epoch) {
        return {RuleKind::kCodeChanged, 0, 0, 0};
    }
    rule = answer.is_loaded_code ? derive_rule(return_address - 1) : UnwindRule{};
    keep_rule(return_address, epoch, rule);
    return rule;
}

}  // namespace peakline::capture
