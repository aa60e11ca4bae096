#include "cpu_hooks.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/capture/libraries/got_patch.h"
#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/hot_data.h"
#include "allocator/record/recorder.h"
#include "library_hooks.h"
#include "torch_hooks.h"

namespace peakline::preload {
namespace {

using capture::ThreadState;
using record::Recorder;

// void c10::free_cpu(void*)
constexpr char kFreeSymbol[] = "_ZN3c108free_cpuEPv";
using AllocFunction = void* (*)(size_t);
using FreeFunction = void (*)(void*);

// Set once before the imports are redirected.
[[PEAKLINE_HOT_DATA]] AllocFunction g_real_alloc = nullptr;
[[PEAKLINE_HOT_DATA]] FreeFunction g_real_free = nullptr;
[[PEAKLINE_HOT_DATA]] ReportFunction g_real_report = nullptr;

// relaxed: false only in a child after fork, whose single thread has set it. The child records
// nothing: a thread that did not survive the fork may hold the loader's lock, which hooks need.
[[PEAKLINE_HOT_DATA]] std::atomic<bool> g_is_on{false};

// The first block may come before `import torch` has finished, when objects cannot be named yet. So
// we try again at block counts that are powers of two.
void name_objects_if_due(Recorder& recorder) {
    static std::atomic<uint32_t> count{0};
    const uint32_t now = count.fetch_add(1, std::memory_order_relaxed) + 1;  // relaxed: a counter
    if ((now & (now - 1)) == 0 && recorder.is_tracing()) {
        capture::object_side().load_if_missing();
    }
}

void record_block(void* address, uint64_t bytes) {
    Recorder& recorder = Recorder::instance();
    ThreadState* const state = capture::thread_state(recorder.table());
    if (state == nullptr) {
        return;
    }
    hook_new_libraries_if_due();
    recorder.record_alloc({reinterpret_cast<uint64_t>(address),
                           bytes,
                           bytes,
                           context_now(recorder, *state),
                           0,
                           format::kCpuDevice},
                          record::kUnknownTotal);
    name_objects_if_due(recorder);
}

void record_freed(void* address) {
    Recorder& recorder = Recorder::instance();
    ThreadState* const state = capture::thread_state(recorder.table());
    recorder.record_unreported_free(reinterpret_cast<uint64_t>(address),
                                    context_of_free(recorder, state));
}

// Throws when out of memory; the exception passes through.
[[gnu::hot]] void* alloc_hook(size_t bytes) {
    void* const address = g_real_alloc(bytes);
    if (address != nullptr && g_is_on.load(std::memory_order_relaxed)) {
        record_block(address, bytes);
    }
    return address;
}

[[gnu::hot]] void free_hook(void* address) {
    if (address != nullptr && g_is_on.load(std::memory_order_relaxed)) {
        record_freed(address);
    }
    g_real_free(address);
}

// libtorch_cpu.so reports storages in shared memory or mapped from a file. They do not come from
// the allocator.
void mapped_report_hook(
    void* address, int64_t bytes, size_t total, size_t reserved, uint16_t device) {
    constexpr uint8_t kCpuDeviceType = 0;
    if ((device & 0xFF) == kCpuDeviceType && address != nullptr &&
        g_is_on.load(std::memory_order_relaxed)) {
        if (bytes > 0) {
            record_block(address, static_cast<uint64_t>(bytes));
        } else if (bytes < 0) {
            record_freed(address);
        }
    }
    g_real_report(address, bytes, total, reserved, device);
}

}  // namespace

bool hook_cpu_allocator(const char** reason) {
    g_real_alloc =
        reinterpret_cast<AllocFunction>(capture::find_in_loaded("libc10.so", kCpuAllocSymbol));
    g_real_free = reinterpret_cast<FreeFunction>(capture::find_in_loaded("libc10.so", kFreeSymbol));
    g_real_report =
        reinterpret_cast<ReportFunction>(capture::find_in_loaded("libc10.so", kReportSymbol));
    if (g_real_alloc == nullptr || g_real_free == nullptr || g_real_report == nullptr) {
        *reason = "c10::alloc_cpu is not in libc10.so";
        return false;
    }
    g_is_on.store(true, std::memory_order_relaxed);
    if (capture::redirect_imports(
            kCpuAllocSymbol, "libc10.so", reinterpret_cast<void*>(alloc_hook)) == 0) {
        *reason = "libc10.so does not call c10::alloc_cpu through its import table";
        return false;
    }
    add_library_hook(kCpuAllocSymbol, reinterpret_cast<void*>(alloc_hook));
    add_library_hook(kFreeSymbol, reinterpret_cast<void*>(free_hook));
    hook_all_libraries_slow();
    capture::redirect_imports(
        kReportSymbol, "libtorch_cpu", reinterpret_cast<void*>(mapped_report_hook));
    return true;
}

void child_after_fork_cpu() {
    g_is_on.store(false, std::memory_order_relaxed);
}

}  // namespace peakline::preload
