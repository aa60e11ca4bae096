// Blocks of torch's CPU allocator, for runs that ask for them (PEAKLINE_CPU). Its two functions,
// c10::alloc_cpu and c10::free_cpu, are called through import tables, by its own library, too: they
// lead through ours, and no allocator, DataPtr or deleter of the program becomes another one.
#pragma once

namespace peakline::preload {

// void* c10::alloc_cpu(size_t)
inline constexpr char kCpuAllocSymbol[] = "_ZN3c109alloc_cpuEm";

// Call after hook_autograd(). False when torch's libraries do not have the functions; `reason` then
// says which.
bool hook_cpu_allocator(const char** reason);

// From then on the hooks only forward.
void child_after_fork_cpu();

}  // namespace peakline::preload
