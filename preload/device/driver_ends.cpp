#include "driver_ends.h"

#include "allocator/record/recorder.h"
#include "driver_samples.h"
#include "driver_state.h"

namespace peakline::preload {
namespace {

using format::DriverKind;
using record::Recorder;

// Bytes of a device that the free in progress on this thread returns.
thread_local uint64_t g_freed_bytes __attribute__((tls_model("initial-exec"))) = 0;

void record_end(const DriverBlock& block) {
    Recorder& recorder = Recorder::instance();
    if (has_alloc_record(block)) {
        recorder.record_unreported_free(address_of_block(block));
    }
    {
        const record::LockGuard guard(driver_record_lock());
        recorder.record(format::DriverFree{block.driver_kind(), block.key});
    }
    g_freed_bytes += format::is_on_device(block.driver_kind()) ? block.bytes : 0;
    if (block.driver_kind() == DriverKind::kPool) {
        forget_pool(block.key);
    }
}

// Blocks that end together: a block, and a physical handle that it alone kept alive.
struct Ended {
    DriverBlock blocks[2] = {};
    size_t count = 0;

    void add(const DriverBlock& block) { blocks[count++] = block; }
    void record() const {
        for (size_t i = 0; i < count; ++i) {
            record_end(blocks[i]);
        }
    }
};

// Requires the lock. The memory lives as long as it has a handle or a mapping.
void end_if_unused(DriverBlock* physical, Ended* ended) {
    if (physical->handles == 0 && physical->mappings == 0) {
        ended->add(*physical);
        g_driver.blocks.remove(physical);
    }
}

// Requires the lock. Returns false if there is no such block.
bool end_block(uint32_t space, uint64_t key, Ended* ended) {
    DriverBlock* const block = g_driver.blocks.find(space, key);
    if (block == nullptr) {
        return false;
    }
    if (has_handles(*block)) {
        block->handles -= block->handles != 0 ? 1 : 0;
        end_if_unused(block, ended);
        return true;
    }
    const uint64_t physical_key = block->owner;
    ended->add(*block);
    g_driver.blocks.remove(block);
    DriverBlock* const physical =
        space == kPeaklineMapping ? g_driver.blocks.find(kPeaklineHandle, physical_key) : nullptr;
    if (physical != nullptr) {
        physical->mappings -= physical->mappings != 0 ? 1 : 0;
        end_if_unused(physical, ended);
    }
    return true;
}

// One call may unmap several adjacent mappings.
void end_mappings(const PeaklineDriverEvent& event) {
    for (uint64_t at = event.key; at < event.key + event.bytes;) {
        Ended ended;
        {
            const record::LockGuard guard(g_driver.lock);
            if (!end_block(kPeaklineMapping, at, &ended)) {
                return;
            }
        }
        ended.record();
        if (ended.blocks[0].bytes == 0) {
            return;
        }
        at += ended.blocks[0].bytes;
    }
}

// Ends blocks that are not freed one by one.
template <class IsChosen>
void end_all(IsChosen is_chosen) {
    for (bool is_more = true; is_more;) {
        DriverBlock ended{};
        {
            const record::LockGuard guard(g_driver.lock);
            g_driver.blocks.for_each(
                [&](const DriverBlock& block) { ended = is_chosen(block) ? block : ended; });
            is_more = ended.is_used();
            if (is_more) {
                g_driver.blocks.remove(g_driver.blocks.find(ended.space, ended.key));
            }
        }
        if (is_more) {
            record_end(ended);
        }
    }
}

}  // namespace

void on_free(const PeaklineDriverEvent& event) {
    g_freed_bytes = 0;
    if (event.space == kPeaklineMapping) {
        end_mappings(event);
        return;
    }
    Ended ended;
    {
        const record::LockGuard guard(g_driver.lock);
        end_block(event.space, event.key, &ended);
    }
    ended.record();
}

bool call_frees_memory() {
    return g_freed_bytes != 0;
}

bool is_known_handle(const DriverBlock& block) {
    Ended ended;
    {
        const record::LockGuard guard(g_driver.lock);
        DriverBlock* const known = g_driver.blocks.find(block.space, block.key);
        if (known != nullptr && has_handles(block) && has_handles(*known)) {
            ++known->handles;
            return true;
        }
        end_block(block.space, block.key, &ended);
    }
    ended.record();
    return false;
}

void end_context(uint64_t context) {
    end_all([=](const DriverBlock& block) {
        return context != 0 && block.owner == context &&
               (block.space == kPeaklineAddress || block.space == kPeaklineArray);
    });
}

void end_device(uint32_t device) {
    if (device >= record::kMaxDevices) {
        return;
    }
    uint64_t context = 0;
    {
        const record::LockGuard guard(g_driver.lock);
        context = g_driver.primary_contexts[device];
    }
    end_context(context);
    end_all([=](const DriverBlock& block) {
        return block.device == device && block.driver_kind() == DriverKind::kAsync;
    });
}

}  // namespace peakline::preload
