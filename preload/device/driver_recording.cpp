#include "driver_recording.h"

#include <atomic>
#include <cstring>

#include <dlfcn.h>

#include "allocator/capture/libraries/got_patch.h"
#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/recorder.h"
#include "allocator/torch/torch_part.h"
#include "driver_api.h"
#include "driver_blocks.h"
#include "driver_ends.h"
#include "driver_samples.h"
#include "driver_sharing.h"
#include "driver_state.h"
#include "preload/driver/driver_seam.h"
#include "preload/hooks/library_hooks.h"
#include "preload/hooks/nccl_hook.h"
#include "preload/hooks/segment_hooks.h"

namespace peakline::preload {

Driver g_driver;

namespace {

using format::DriverKind;
using format::SampleReason;
using record::Recorder;

// torch's allocator calls the driver under its own lock, where the loader must not be called. The
// stack of the request was captured before.
uint32_t context_of_request() {
    Recorder& recorder = Recorder::instance();
    capture::ThreadState* const state = capture::thread_state(recorder.table());
    if (state == nullptr || !recorder.is_tracing()) {
        return recorder.untraced_context();
    }
    return state->pending.progress != torch_part::kNoAlloc
               ? state->pending.context
               : capture::capture_context(recorder.table(), *state);
}

bool is_memory_of_device(DriverKind kind) {
    return format::is_on_device(kind) || kind == DriverKind::kAsync;
}

format::DriverAlloc record_of(const DriverBlock& block) {
    return {block.driver_kind(),
            block.flags,
            block.context,
            block.device,
            block.stream,
            block.key,
            block.bytes,
            block.owner};
}

// The records that describe the request before them.
void record_descriptions(const DriverBlock& block) {
    if (block.made_for != 0) {
        Recorder::instance().record(format::MadeFor{block.made_for});
    }
    if (block.is_shared != 0) {
        Recorder::instance().record(
            format::SharedMemory{block.driver_kind(), block.key, block.shared_name});
    }
}

// See Note [Alone in the driver].
void record_request(const DriverBlock& block) {
    const record::LockGuard guard(driver_record_lock());
    Recorder& recorder = Recorder::instance();
    recorder.record_driver_alloc(record_of(block));
    record_descriptions(block);
    if (has_alloc_record(block)) {
        recorder.record_alloc({address_of_block(block),
                               block.bytes,
                               block.bytes,
                               block.context,
                               block.stream,
                               device_of_block(block)},
                              record::kUnknownTotal);
    }
}

DriverBlock block_of(const PeaklineDriverEvent& event, uint32_t device) {
    DriverBlock block{};
    block.key = event.key;
    block.bytes = event.bytes;
    block.owner = event.owner;
    block.context = context_of_request();
    block.made_for = communicator_in_use();
    block.space = static_cast<uint8_t>(event.space);
    block.kind = static_cast<uint8_t>(event.kind);
    block.device = static_cast<uint8_t>(device);
    block.handles = has_handles(block) ? 1 : 0;
    if (event.is_asynchronous != 0) {
        block.stream = Recorder::instance().table().intern_stream(event.stream);
        block.owner = event.owner != 0 ? event.owner : current_pool(device);
    } else if (event.space == kPeaklineAddress || event.space == kPeaklineArray) {
        block.owner = current_context();
    }
    if (event.is_asynchronous != 0 && is_capturing(event.stream)) {
        block.kind = static_cast<uint8_t>(DriverKind::kGraphNode);
        block.bytes = 0;
        watch_graphs(device);
    }
    const bool is_block = is_memory_of_device(block.driver_kind()) &&
                          g_driver.makes_blocks.load(std::memory_order_relaxed);
    if (block.driver_kind() == DriverKind::kImported) {
        describe_opened(event.shared_number, &block);
    }
    block.flags = is_block ? uint8_t{format::kIsAlsoBlock} : uint8_t{0};
    return block;
}

// After its record, so that a block in the table is either in the trace or restated when a trace
// opens.
void keep_block(const DriverBlock& block) {
    const record::LockGuard guard(g_driver.lock);
    g_driver.blocks.insert(block);
    DriverBlock* const physical = block.space == kPeaklineMapping
                                      ? g_driver.blocks.find(kPeaklineHandle, block.owner)
                                      : nullptr;
    if (physical != nullptr) {
        ++physical->mappings;
    }
}

// Whether this is a piece of a segment that torch's allocator is about to map.
bool is_piece_of_segment(const PeaklineDriverEvent& event) {
    const capture::ThreadState* const state = capture::g_thread_state;
    return event.kind == static_cast<uint64_t>(DriverKind::kPhysical) && state != nullptr &&
           state->pending.progress != torch_part::kNoAlloc &&
           static_cast<uint32_t>(event.device) < record::kMaxDevices;
}

void on_refused(const PeaklineDriverEvent& event) {
    if (is_piece_of_segment(event)) {
        record_refused_piece(static_cast<uint32_t>(event.device), event.bytes);
    }
}

void on_request(const PeaklineDriverEvent& event) {
    const uint32_t device = event.device != kPeaklineCurrentDevice
                                ? static_cast<uint32_t>(event.device)
                                : current_device().value_or(0);
    if (device >= record::kMaxDevices) {
        return;
    }
    const DriverBlock block = block_of(event, device);
    if (is_known_handle(block)) {
        return;
    }
    record_request(block);
    keep_block(block);
    if (block.driver_kind() == DriverKind::kAsync) {
        sample_pool(block.owner, device, block.bytes);
    } else if (format::is_on_device(block.driver_kind())) {
        sample_device(SampleReason::kRequest);
    }
}

void on_context(const PeaklineDriverEvent& event) {
    if (event.key != 0 && static_cast<uint32_t>(event.device) < record::kMaxDevices) {
        const record::LockGuard guard(g_driver.lock);
        g_driver.primary_contexts[event.device] = event.key;
    }
    sample_device(SampleReason::kContext);
}

void on_reference(const PeaklineDriverEvent& event) {
    const record::LockGuard guard(g_driver.lock);
    if (DriverBlock* const physical = g_driver.blocks.find(kPeaklineHandle, event.key)) {
        ++physical->handles;
    }
}

void on_event(const PeaklineDriverEvent* event) {
    find_driver_api_slow();
    switch (event->call) {
        case kPeaklineRequest:
            if (is_piece_of_segment(*event)) {
                add_unmapped_piece(static_cast<uint32_t>(event->device), event->bytes);
            }
            return on_request(*event);
        case kPeaklineRefused:
            return on_refused(*event);
        case kPeaklineFree:
            return on_free(*event);
        case kPeaklineFreed:
            return call_frees_memory() ? sample_device(SampleReason::kFree) : void();
        case kPeaklineReference:
            return on_reference(*event);
        case kPeaklineContext:
            return on_context(*event);
        case kPeaklineContextEnd:
            return end_context(event->key);
        case kPeaklineDeviceReset:
            return end_device(static_cast<uint32_t>(event->device));
        case kPeaklineDeviceRelease:
            return has_primary_context(static_cast<uint32_t>(event->device))
                       ? void()
                       : end_device(static_cast<uint32_t>(event->device));
        case kPeaklineContextGone:
            return sample_after_context();
        case kPeaklineExported:
            return on_exported(*event);
        case kPeaklineModule:
            return sample_device(SampleReason::kModule);
        case kPeaklineLimit:
            return sample_device(SampleReason::kLimit);
        case kPeaklineGraph:
            return sample_device(SampleReason::kGraph);
        case kPeaklineTrim:
            return sample_device(SampleReason::kTrim);
        default:
            return;
    }
}

void before_call() {
    find_driver_api_slow();
    sample_device(SampleReason::kGrowth);
}

// Redirects the imports of a library that is linked to the driver.
void lead_to_driver_call(const capture::Import& import, void*) {
    void* const replacement =
        strncmp(import.symbol, "cu", 2) == 0 ? peakline_driver_replacement(import.symbol) : nullptr;
    if (replacement != nullptr && *import.slot != replacement) {
        import.lead_to(replacement);
    }
}

constexpr PeaklineDriverListener kListener = {before_call, on_event};

}  // namespace

void listen_to_driver() {
    if (g_driver.is_ready || !g_driver.blocks.init()) {
        return;
    }
    g_driver.is_ready = true;
    find_driver_api_slow();
    peakline_driver_listen(&kListener);
    if (dlsym(RTLD_DEFAULT, "peakline_driver_is_preloaded") == nullptr) {
        capture::for_each_import("", lead_to_driver_call, nullptr);
        add_library_hook("dlsym", reinterpret_cast<void*>(&peakline_driver_dlsym));
        hook_all_libraries_slow();
    }
}

void leave_blocks_to_torch() {
    if (!g_driver.makes_blocks.exchange(false) || !g_driver.is_ready) {
        return;
    }
    record::MappedArray<uint64_t> addresses;
    {
        const record::LockGuard guard(g_driver.lock);
        size_t count = 0;
        g_driver.blocks.for_each([&](const DriverBlock&) { ++count; });
        if (!addresses.reserve(count + 1)) {
            return;
        }
        g_driver.blocks.for_each([&](const DriverBlock& block) {
            if ((block.flags & format::kIsAlsoBlock) != 0) {
                addresses.push(address_of_block(block));
                const_cast<DriverBlock&>(block).flags = 0;
            }
        });
    }
    for (const uint64_t address : addresses) {
        Recorder::instance().record_unreported_free(address);
    }
}

void restate_driver() {
    if (!g_driver.is_ready) {
        return;
    }
    const record::LockGuard guard(g_driver.lock);
    g_driver.blocks.for_each([](const DriverBlock& block) {
        Recorder::instance().record(record_of(block));
        record_descriptions(block);
    });
    restate_samples();
}

void sample_at_end() {
    if (g_driver.is_ready && peakline_driver_is_calling() == 0) {
        sample_device(SampleReason::kEnd);
    }
}

void sample_after_phase() {
    if (g_driver.is_ready && peakline_driver_is_calling() == 0) {
        sample_at_phase_end();
    }
}

void prepare_fork_driver() {
    driver_record_lock().lock();
    g_driver.lock.lock();
}
void parent_after_fork_driver() {
    g_driver.lock.unlock();
    driver_record_lock().unlock();
}
// CUDA does not survive a fork; neither do its allocations.
void child_after_fork_driver() {
    g_driver.lock.reset_after_fork();
    driver_record_lock().reset_after_fork();
    if (g_driver.is_ready) {
        peakline_driver_listen(nullptr);
        g_driver.blocks.clear();
    }
}

}  // namespace peakline::preload
