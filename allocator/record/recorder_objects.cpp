// Facts about blocks from the objects of the program: the tensors in them, and their holders. Knows
// no objects: blocks go out; names, types and texts come in. See Note [Holders] in
// format/definitions.h.
#include <algorithm>

#include "recorder.h"

namespace peakline::record {
namespace {

constexpr size_t kTensorsAtOnce = 256;
// Definitions are never released, so each trace may have only a few of them: about 2 MB.
constexpr uint32_t kMaxHolders = 20'000;

}  // namespace

size_t Recorder::report_tensors(const ReportedTensor* tensors, size_t count) {
    size_t unknown_count = 0;
    for (size_t done = 0; done < count; done += kTensorsAtOnce) {
        const LockGuard guard(lock_);
        unknown_count +=
            report_some_tensors(tensors + done, std::min(count - done, kTensorsAtOnce));
    }
    return unknown_count;
}

// A block keeps the first name of a kind: tied weights and views of one storage share it.
size_t Recorder::report_some_tensors(const ReportedTensor* tensors, size_t count) {
    if (!usable_ || !writer_.is_open()) {
        return 0;
    }
    TensorBlock reported[kTensorsAtOnce];
    size_t reported_count = 0;
    size_t unknown_count = 0;
    for (size_t i = 0; i < count; ++i) {
        // Address 0, as tensors without storage have, would find a free slot.
        LiveBlock* const block =
            tensors[i].address == 0 ? nullptr : live_set_.find(tensors[i].address);
        if (block == nullptr) {
            ++unknown_count;
            continue;
        }
        const auto kind = static_cast<unsigned>(tensors[i].kind) << kTensorKindShift;
        if ((block->flags & kTensorKind) != kind) {
            block->flags = static_cast<uint8_t>((block->flags & ~kTensorKind) | kind);
            reported[reported_count++] =
                TensorBlock{next_ordinal_ - block->ordinal, tensors[i].tensor, tensors[i].type};
        }
    }
    writer_.put_tensor_blocks(reported, reported_count);
    check_writer();
    return unknown_count;
}

void Recorder::report_made_tensors(uint64_t first_ordinal,
                                   const MadeTensor* tensors,
                                   size_t count) {
    for (size_t done = 0; done < count;) {
        const LockGuard guard(lock_);
        if (!usable_ || !writer_.is_open()) {
            return;
        }
        TensorBlock reported[kTensorsAtOnce];
        size_t reported_count = 0;
        for (const size_t end = std::min(count, done + kTensorsAtOnce); done < end; ++done) {
            const LiveBlock* const block =
                tensors[done].address == 0 ? nullptr : live_set_.find(tensors[done].address);
            if (block != nullptr && block->ordinal >= first_ordinal) {
                reported[reported_count++] =
                    TensorBlock{next_ordinal_ - block->ordinal, 0, tensors[done].type};
            }
        }
        writer_.put_tensor_blocks(reported, reported_count);
        check_writer();
    }
}

bool Recorder::is_unsaved(uint64_t address) {
    const LockGuard guard(lock_);
    const LiveBlock* const block = usable_ && writer_.is_open() ? live_set_.find(address) : nullptr;
    return block != nullptr && (block->flags & kSaved) == 0;
}

void Recorder::record_saved(uint64_t address, uint32_t context) {
    const LockGuard guard(lock_);
    LiveBlock* const block = usable_ && is_tracing() ? live_set_.find(address) : nullptr;
    if (block != nullptr && (block->flags & kSaved) == 0) {
        block->flags = static_cast<uint8_t>(block->flags | kSaved);
        put(format::SavedBlock{next_ordinal_ - block->ordinal, context});
    }
}

void Recorder::report_inputs(uint32_t instance, const uint64_t* addresses, size_t count) {
    const LockGuard guard(lock_);
    if (!usable_ || !writer_.is_open()) {
        return;
    }
    TensorBlock inputs[kTensorsAtOnce];
    size_t input_count = 0;
    for (size_t i = 0; i < std::min(count, kTensorsAtOnce); ++i) {
        const LiveBlock* const block = addresses[i] == 0 ? nullptr : live_set_.find(addresses[i]);
        if (block != nullptr) {
            inputs[input_count++] = TensorBlock{next_ordinal_ - block->ordinal, instance, 0};
        }
    }
    writer_.put_inputs(inputs, input_count);
    check_writer();
}

size_t Recorder::copy_live_blocks(LiveBlock* out, size_t room) {
    const LockGuard guard(lock_);
    size_t count = 0;
    if (usable_) {
        live_set_.for_each([&](const LiveBlock& block) {
            // Lower addresses represent all unknown blocks of a device.
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
