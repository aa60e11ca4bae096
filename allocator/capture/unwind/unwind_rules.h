// The rules of all return addresses seen so far, in one table that all threads read without a
// lock, and the count of unloads that shows when its rules may be out of date.
//
// Note [Code that changes]
// A rule, a memoised stack and the module of a frame are valid while the code stays loaded. If a
// library is unloaded and another is mapped at the same address, all three may be wrong.
// dl_iterate_phdr returns the number of unloaded libraries (dlpi_subs). This count (code_epoch) is
// part of every rule's key, of every memo entry and of the stack's hash, so a change empties all
// three at once. The code on this thread's own stack cannot be unloaded during its walk.
//
// The time to query it: dl_iterate_phdr takes the loader's list lock, 15 ns alone, 150 ns if two
// threads call it, plus two system calls that block signals (loader_walk.h). A word of the loader
// counts all libraries ever added (loader_counts.h), and every capture reads it: code of a new
// library cannot run before it is counted, so the first capture below it queries the loader. A walk
// first reads the number of removed libraries as well. A hook of dlclose would not do: libraries
// loaded later import it anew, and libc unloads its own modules (iconv, name services) and
// half-loaded libraries without it.
//
// The words belong to no public interface. They are used if no other words of the loader's data
// agree with dl_iterate_phdr, and are compared with it again at every change. If they cannot be
// found, and while libraries are in other namespaces (dlmopen), dl_iterate_phdr is called before
// every walk, which costs far more, and every kCapturesPerLoaderCheck captures of a thread that the
// memo answers. Then, for less than that many captures after an unload, a stack through a new
// library may be taken for an old one, if all its return addresses, and the stack addresses that
// hold them, are those of the old one. Code outside the loader's libraries (generated at run time)
// may change without any count: it has no rules, and libunwind always walks it. Its stack could be
// taken for a library's only at the address of an unloaded library, before the next one is loaded,
// under the same condition.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/record/tables/mix64.h"
#include "cfi_rule.h"

namespace peakline::capture {

inline constexpr uint32_t kCapturesPerLoaderCheck = 1024;

// Raised by refresh_code_epoch_slow. relaxed: a thread that reads an old value is in the window
// of Note [Code that changes]; the values it selects are ordered by the table's own keys.
extern std::atomic<uint64_t> g_code_epoch;

inline uint64_t code_epoch() {
    return g_code_epoch.load(std::memory_order_relaxed);
}
// Queries the loader. Returns the newest epoch.
uint64_t refresh_code_epoch_slow();

struct RuleEntry {
    std::atomic<uint64_t> key;   // 0: free, kBusyKey: being written
    std::atomic<uint64_t> rule;  // an UnwindRule
};
// 128 KiB: a training process has some 10^3 return addresses, and a table four times as large
// costs 20 % more by its TLB misses.
inline constexpr unsigned kRuleTableBits = 13;
inline constexpr size_t kRuleTableEntries = size_t{1} << kRuleTableBits;
inline constexpr size_t kMaxRuleProbes = 8;
inline constexpr uint64_t kBusyKey = ~uint64_t{0};
inline RuleEntry g_rules[kRuleTableEntries];

// User addresses have 47 bits; the epoch's low bits take the rest.
inline uint64_t rule_key(uint64_t return_address, uint64_t epoch) {
    return return_address | epoch << 48U;
}
inline size_t rule_slot(uint64_t return_address) {
    return record::mix64(return_address) % kRuleTableEntries;
}

inline bool read_rule(const RuleEntry& entry, uint64_t key, UnwindRule* rule) {
    // acquire: the rule stored before this key is visible.
    if (entry.key.load(std::memory_order_acquire) != key) {
        return false;
    }
    *rule = __builtin_bit_cast(UnwindRule, entry.rule.load(std::memory_order_relaxed));
    // Another address may have taken the entry in between: use it only if the key is unchanged.
    // acquire keeps this load after the one above.
    std::atomic_thread_fence(std::memory_order_acquire);
    return entry.key.load(std::memory_order_relaxed) == key;
}

// Continues probing, and derives the rule if there is none. kCodeChanged if `epoch` has passed.
UnwindRule find_rule_slow(uint64_t return_address, uint64_t epoch);

// `return_address` is a user address, see rule_key.
inline UnwindRule find_rule(uint64_t return_address, uint64_t epoch) {
    UnwindRule rule;
    return read_rule(g_rules[rule_slot(return_address)], rule_key(return_address, epoch), &rule)
               ? rule
               : find_rule_slow(return_address, epoch);
}

}  // namespace peakline::capture
