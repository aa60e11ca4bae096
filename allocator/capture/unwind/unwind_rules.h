// The rules of all return addresses seen so far, in one table that all threads read without a
// lock, and the count of unloads that shows when its rules may be out of date.
//
// Note [Code that changes]
// A rule, a memoised stack and the module of a frame hold as long as the code stays loaded. When
// a library is unloaded and another is mapped at the same place, all three may be wrong. How many
// were unloaded is known from dl_iterate_phdr (dlpi_subs). This count (code_epoch) is part of
// every rule's key, of every memo entry and of the stack's hash, so a change empties all three at
// once. The code on this thread's own stack cannot be unloaded during its walk.
//
// When to ask: dl_iterate_phdr takes the loader's list lock, 15 ns alone, 150 ns when two threads
// ask, besides two system calls that hold signals back (loader_walk.h). How many libraries were
// ever added stands in a word of the loader (loader_counts.h), which every capture reads: code of a
// new library cannot run before it is counted, so the first capture below it asks. Before a walk,
// the number of those removed is read as well. Why not a hook of dlclose: libraries loaded later
// import it anew, and libc unloads its own modules (iconv, name services) and half-loaded
// libraries without it.
//
// The words belong to no public interface. They are believed where they are the only ones of the
// loader's data that dl_iterate_phdr confirms, and are compared with it again at every change.
// Where they cannot be found, and while libraries live in other namespaces (dlmopen), it is asked
// before every walk, which costs far more, and every kCapturesPerLoaderCheck captures of a
// thread that the memo answers. There, for less than that many captures after an unload, a stack
// through a new library may be taken for an old one, when all its return addresses, and the stack
// addresses they lie at, are those of the old one. Code outside the loader's libraries (generated
// at run time) may change without any count: it has no rules and is always left to libunwind. Only
// at the place of an unloaded library, before the next one is loaded, could its stack be taken for
// the library's, under the same condition.
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
// Asks the loader. Returns the newest epoch.
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
    // The entry may have been given to another address in between: believe it only if the key
    // still stands. acquire keeps this load after the one above.
    std::atomic_thread_fence(std::memory_order_acquire);
    return entry.key.load(std::memory_order_relaxed) == key;
}

// Probes on, and derives the rule when there is none. kCodeChanged when `epoch` has passed.
UnwindRule find_rule_slow(uint64_t return_address, uint64_t epoch);

// `return_address` is a user address, see rule_key.
inline UnwindRule find_rule(uint64_t return_address, uint64_t epoch) {
    UnwindRule rule;
    return read_rule(g_rules[rule_slot(return_address)], rule_key(return_address, epoch), &rule)
               ? rule
               : find_rule_slow(return_address, epoch);
}

}  // namespace peakline::capture
