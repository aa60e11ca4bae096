#include "driver_sharing.h"

#include <cinttypes>
#include <cstdio>
#include <string_view>

#include "allocator/record/format/shared_names.h"
#include "allocator/record/recorder.h"
#include "driver_api.h"
#include "driver_samples.h"
#include "driver_state.h"

namespace peakline::preload {
namespace {

using record::Recorder;

// `words`: of shared_names.h.
uint32_t name_of(std::string_view words, uint64_t shared_number) {
    if (shared_number == 0) {
        return 0;
    }
    char text[48];
    const int size = static_cast<int>(words.size());
    snprintf(text, sizeof text, "%.*s%016" PRIx64, size, words.data(), shared_number);
    return Recorder::instance().table().intern_text(text);
}

}  // namespace

void describe_opened(uint64_t shared_number, DriverBlock* block) {
    if (block->space == kPeaklineExternal) {
        return;  // of another API
    }
    const std::optional<AddressRange> range =
        block->space == kPeaklineAddress ? address_range(block->key) : std::nullopt;
    block->bytes = range ? range->bytes : 0;
    block->is_shared = 1;
    block->shared_name = name_of(format::kOpenedName, shared_number);
}

void on_exported(const PeaklineDriverEvent& event) {
    const std::optional<AddressRange> range =
        event.space == kPeaklineAddress ? address_range(event.key) : std::nullopt;
    const uint32_t name = name_of(format::kOwnedName, event.shared_number);
    format::SharedMemory shared{};
    {
        const record::LockGuard guard(g_driver.lock);
        DriverBlock* const block =
            g_driver.blocks.find(event.space, range ? range->start : event.key);
        if (block == nullptr || block->is_shared != 0) {
            return;
        }
        block->is_shared = 1;
        block->shared_name = name;
        shared = {block->driver_kind(), block->key, name};
    }
    const record::LockGuard guard(driver_record_lock());
    Recorder::instance().record(shared);
}

}  // namespace peakline::preload
