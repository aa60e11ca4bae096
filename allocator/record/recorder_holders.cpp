// What keeps blocks alive, as a search through the program's objects found it. Knows no objects:
// blocks go out, texts come in. See Note [Holders] in format/definitions.h.
#include "recorder.h"

namespace peakline::record {
namespace {

// Definitions are never released, so that of each trace they must be few: about 2 MB.
constexpr uint32_t kMaxHolders = 20'000;

}  // namespace

size_t Recorder::copy_live_blocks(LiveBlock* out, size_t room) {
    const LockGuard guard(lock_);
    size_t count = 0;
    if (usable_) {
        live_set_.for_each([&](const LiveBlock& block) {
            // Below are those that stand for all unknown blocks of a device.
            if (block.address > format::kDeviceCount) {
                if (count < room) {
                    out[count] = block;
                }
                ++count;
            }
        });
    }
    return count;
}

uint32_t Recorder::record_holders(format::HolderSearch search,
                                  const FoundHolder* holders,
                                  size_t count) {
    const LockGuard guard(lock_);
    if (!usable_ || !writer_.is_open() || holder_count_ + count > kMaxHolders) {
        return 0;
    }
    search.search = ++holder_searches_;
    search.tick = clock_.now_tick();
    writer_.put_holder_search(search);
    for (size_t i = 0; i < count; ++i) {
        const FoundHolder& found = holders[i];
        const LiveBlock* const block = live_set_.find(found.address);
        if (block == nullptr || block->ordinal != found.ordinal) {
            continue;  // another thread freed it meanwhile
        }
        format::Holder holder{};
        holder.search = search.search;
        holder.address = block->address;
        holder.requested_bytes = block->requested_bytes;
        holder.block_bytes = block->block_bytes;
        holder.context = block->context;
        holder.stream = block->stream == kManyStreams ? 0 : block->stream;
        holder.device = block->device;
        holder.kind = found.kind;
        holder.more_count = found.more_count;
        writer_.put_holder(holder, next_ordinal_ - block->ordinal, found.text, found.length);
        ++holder_count_;
    }
    check_writer();
    return search.search;
}

}  // namespace peakline::record
