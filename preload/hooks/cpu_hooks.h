// Records blocks of torch's CPU allocator (PEAKLINE_CPU). Callers, including the allocator's own
// library, reach c10::alloc_cpu and c10::free_cpu through import tables, which we redirect.
// Allocators, DataPtrs and deleters of the program stay the same.
#pragma once

namespace peakline::preload {

// void* c10::alloc_cpu(size_t)
inline constexpr char kCpuAllocSymbol[] = "_ZN3c109alloc_cpuEm";

// Call after hook_autograd(). Returns false when torch's libraries lack the functions; `reason`
// then names them.
bool hook_cpu_allocator(const char** reason);

// After this call the hooks only forward.
void child_after_fork_cpu();

}  // namespace peakline::preload
