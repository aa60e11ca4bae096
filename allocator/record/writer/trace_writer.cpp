#include "trace_writer.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "allocator/record/tables/prefetch.h"

namespace peakline::record {
namespace {

using format::ChunkType;
using format::DefType;
using format::Op;

constexpr uint32_t kMaxClasses = 1U << 22;
// Definitions are never released: in a bounded file they must be few.
constexpr uint32_t kMaxClassesOfBounded = 1U << 16;
constexpr size_t kMaxTagBytes = 1 + format::kMaxVarintBytes;
constexpr size_t kMaxAllocBody = 6 * format::kMaxVarintBytes;
constexpr size_t kMaxRepeatedBytes =
    kMaxTagBytes + std::max(format::kMaxVarintBytes, sizeof WrittenAlloc::body);
constexpr size_t kTensorBlocksBytes = 4096;

format::ExtendedType extended_type(FreeEvent::Kind kind) {
    switch (kind) {
        case FreeEvent::Kind::kPlain:
            return format::ExtendedType::kFreeWithContext;
        case FreeEvent::Kind::kDeferred:
            return format::ExtendedType::kFreeDeferred;
        case FreeEvent::Kind::kCompleted:
            return format::ExtendedType::kFreeCompleted;
    }
    __builtin_unreachable();
}

// The most chunks that the ring can remember; the file never holds more.
size_t ring_capacity(const Keep& keep) {
    return std::bit_ceil(std::max<uint64_t>(2 * keep.bytes / format::kChunkBytes, 1U << 16));
}

}  // namespace

void TraceWriter::open(ChunkTarget* target, StackTable* table, Keep keep) {
    keep_ = keep;
    if (!classes_.init() ||
        (recycles() && (!ring_.init(ring_capacity(keep)) || !standing_.begin_trace()))) {
        error_ = ENOMEM;
        return;
    }
    checkpoint_generation_ = events_chunks_ = 0;
    segment_chunks_ = least_segment_chunks();
    in_checkpoint_ = false;
    checkpoint_at_ = never_due();
    target_ = target;
    table_ = table;
    error_ = 0;
    events_ = definitions_ = summary_ = OpenChunk{};
    next_chunk_ = event_count_ = sealed_bytes_ = ordinal_count_ = 0;
    last_tick_ = last_address_ = live_bytes_ = max_live_bytes_ = peak_before_chunk_ = 0;
    puts_totals_ = false;
    std::memset(emitted_, 0, sizeof emitted_);
    classes_.begin_trace();
    totals_.begin_trace(recycles() ? TraceTotals::Wanted::kNo : TraceTotals::Wanted::kYes,
                        kMaxClasses);
    define_new_slow();
}

void TraceWriter::find_repeats_end() {
    repeats_end_ = nullptr;
    if (is_repeat_allowed_ && target_ != nullptr && events_.base != nullptr) {
        const unsigned char* const end = events_.end() - kLastWordsBytes;
        repeats_end_ = std::min(end, checkpoint_at_) - kMaxRepeatedBytes;
    }
}

void TraceWriter::commit(OpenChunk& chunk, unsigned char* end) {
    chunk.at = end;
    format::ChunkHeader* header = chunk.header();
    ++header->event_count;
    const auto committed =
        static_cast<uint32_t>(end - chunk.base - static_cast<ptrdiff_t>(sizeof *header));
    // release: the record's bytes are in place before they count.
    std::atomic_ref<uint32_t>(header->committed).store(committed, std::memory_order_release);
}

bool TraceWriter::put_definition(DefType type, const unsigned char* body, size_t length) {
    if (!has_room(definitions_, ChunkType::kDefs, 2 * format::kMaxVarintBytes + length)) {
        return false;
    }
    commit(definitions_, put_record(definitions_.at, static_cast<uint64_t>(type), body, length));
    return true;
}

void TraceWriter::define_new_slow() {
    for (const DefType type : kTableTypes) {
        table_->emit(type,
                     &emitted_[static_cast<size_t>(type)],
                     [this](DefType t, const unsigned char* body, size_t length) {
                         return put_definition(t, body, length);
                     });
    }
}

void TraceWriter::put_meta(const char* key, const char* value, size_t value_length) {
    unsigned char body[kMaxDefinitionBytes];
    const size_t key_length = std::strlen(key);
    if (target_ == nullptr || key_length + value_length + format::kMaxVarintBytes > sizeof body) {
        return;
    }
    unsigned char* out = format::put_uv(body, key_length);
    std::memcpy(out, key, key_length);
    std::memcpy(out + key_length, value, value_length);
    put_definition(
        DefType::kMeta, body, static_cast<size_t>(out - body) + key_length + value_length);
}

void TraceWriter::put_tensor_blocks(const TensorBlock* blocks, size_t count) {
    // Every step has new gradients, and definitions are never released: a bounded file has none.
    if (target_ == nullptr || count == 0 || recycles()) {
        return;
    }
    const auto is_new = [this](const TensorBlock& block) {
        return block.tensor > emitted_[static_cast<size_t>(DefType::kTensor)] ||
               block.type > emitted_[static_cast<size_t>(DefType::kTensorType)];
    };
    if (std::any_of(blocks, blocks + count, is_new)) {
        define_new_slow();
    }
    put_of_blocks(DefType::kTensorBlocks, &TensorBlock::tensor, blocks, count);
    put_of_blocks(DefType::kBlockTypes, &TensorBlock::type, blocks, count);
}

void TraceWriter::put_inputs(const TensorBlock* blocks, size_t count) {
    if (target_ != nullptr && !recycles()) {
        put_of_blocks(DefType::kModuleInputs, &TensorBlock::tensor, blocks, count);
    }
}

void TraceWriter::put_of_blocks(DefType type,
                                uint32_t TensorBlock::*id,
                                const TensorBlock* blocks,
                                size_t count) {
    unsigned char body[kTensorBlocksBytes];
    unsigned char* out = body;
    uint64_t previous = 0;
    for (size_t i = 0; i < count; ++i) {
        if (blocks[i].*id == 0) {
            continue;
        }
        if (out + 2 * format::kMaxVarintBytes > body + sizeof body) {
            put_definition(type, body, static_cast<size_t>(out - body));
            out = body;
            previous = 0;
        }
        const uint64_t ordinal = ordinal_count_ - blocks[i].back;
        out = format::put_uv(out, format::zigzag(static_cast<int64_t>(ordinal - previous)));
        out = format::put_uv(out, blocks[i].*id);
        previous = ordinal;
    }
    if (out != body) {
        put_definition(type, body, static_cast<size_t>(out - body));
    }
}

void TraceWriter::put_holder_search(const format::HolderSearch& search) {
    if (target_ != nullptr) {
        unsigned char body[kMaxDefinitionBytes];
        const unsigned char* const end = format::put_fields(body, search);
        put_definition(DefType::kHolderSearch, body, static_cast<size_t>(end - body));
    }
}

void TraceWriter::put_holder(format::Holder holder,
                             uint64_t back,
                             const char* text,
                             size_t length) {
    if (target_ == nullptr) {
        return;
    }
    define_new_slow();
    holder.ordinal = ordinal_count_ - back;
    unsigned char body[kMaxDefinitionBytes];
    unsigned char* const out = format::put_fields(body, holder);
    const size_t room = static_cast<size_t>(body + sizeof body - out);
    const size_t kept = std::min(length, room);
    std::memcpy(out, text, kept);
    put_definition(DefType::kHolder, body, static_cast<size_t>(out - body) + kept);
}

unsigned char* TraceWriter::begin_event(Op op, uint64_t tick, size_t max_body_bytes) {
    return has_room(events_, ChunkType::kEvents, kMaxTagBytes + max_body_bytes) ? put_tag(op, tick)
                                                                                : nullptr;
}

unsigned char* TraceWriter::put_tag(Op op, uint64_t tick) {
    const uint64_t dt = __builtin_expect(tick > last_tick_, 1) ? tick - last_tick_ : 0;
    last_tick_ += dt;
    const auto op_bits = static_cast<unsigned>(op) << 6;
    unsigned char* out = events_.at;
    // New chunks are in no cache, and the next lock waits for every store. Two lines are some 50
    // events.
    __builtin_prefetch(out + 2 * kCacheLine, 1);
    if (dt <= format::kDtMax) [[unlikely]] {
        *out++ = static_cast<unsigned char>(op_bits | dt);
        return out;
    }
    *out++ = static_cast<unsigned char>(op_bits | format::kDtFollows);
    return format::put_uv(out, dt);
}

void TraceWriter::end_event(unsigned char* end) {
    commit(events_, end);
    ++event_count_;
}

unsigned char* TraceWriter::put_shape(unsigned char* out, const AllocEvent& event) {
    out = format::put_uv(out, event.context);
    out = format::put_uv(out, event.device);
    out = format::put_uv(out, event.stream);
    out = format::put_uv(out, event.requested_bytes);
    return format::put_uv(
        out, format::zigzag(static_cast<int64_t>(event.block_bytes - event.requested_bytes)));
}

unsigned char* TraceWriter::put_record(unsigned char* out,
                                       uint64_t type,
                                       const unsigned char* body,
                                       size_t length) {
    out = format::put_uv(out, type);
    out = format::put_uv(out, length);
    std::memcpy(out, body, length);
    return out + length;
}

uint32_t TraceWriter::class_of(const AllocEvent& event) {
    ClassSlot* const slot = classes_.count(event, totals_);
    if (slot == nullptr) {
        return 0;
    }
    if (slot->class_id == 0) [[unlikely]] {
        define_class_slow(*slot, event);
    }
    return slot->class_id;
}

void TraceWriter::define_class_slow(ClassSlot& slot, const AllocEvent& event) {
    uint32_t& class_count = emitted_[static_cast<size_t>(DefType::kClass)];
    if (class_count < (recycles() ? kMaxClassesOfBounded : kMaxClasses)) {
        unsigned char body[5 * format::kMaxVarintBytes];
        const unsigned char* const out = put_shape(body, event);
        if (put_definition(DefType::kClass, body, static_cast<size_t>(out - body))) {
            ClassTable::define(slot, ++class_count, totals_);
        }
    }
}

WrittenAlloc TraceWriter::put_alloc(const AllocEvent& event, uint64_t tick, uint64_t live_bytes) {
    if (target_ == nullptr) {
        return {};
    }
    if (event.context > emitted_[static_cast<size_t>(DefType::kContext)] ||
        event.stream > emitted_[static_cast<size_t>(DefType::kStream)]) {
        define_new_slow();
    }
    const uint32_t class_id = class_of(event);
    unsigned char* out =
        begin_event(class_id != 0 ? Op::kAllocClass : Op::kAllocInline, tick, kMaxAllocBody);
    if (out == nullptr) {
        return {};
    }
    const unsigned char* const body = out;
    if (class_id != 0) {
        out = format::put_uv(out, class_id);
    } else {
        out = put_shape(out, event);
    }
    out = format::put_address(out, event.address, last_address_);
    WrittenAlloc written{last_address_, class_id, 0, {}};
    const auto length = static_cast<size_t>(out - body);
    if (class_id != 0 && length <= sizeof written.body) {
        written.length = static_cast<uint8_t>(length);
        std::memcpy(written.body, body, length);
    }
    end_alloc(out, event.address, live_bytes);
    return written;
}

void TraceWriter::repeat_alloc(const WrittenAlloc& written,
                               uint64_t address,
                               uint64_t tick,
                               uint64_t live_bytes) {
    unsigned char* out = put_tag(Op::kAllocClass, tick);
    totals_.add_class_record(written.class_id);
    std::memcpy(out, written.body, sizeof written.body);  // later bytes overwrite the excess
    end_alloc(out + written.length, address, live_bytes);
}

void TraceWriter::end_alloc(unsigned char* end, uint64_t address, uint64_t live_bytes) {
    last_address_ = address;
    live_bytes_ = live_bytes;
    if (live_bytes > max_live_bytes_) [[unlikely]] {
        max_live_bytes_ = live_bytes;
        uint64_t& of_chunk = events_.header()->max_live_bytes;
        of_chunk = std::max(of_chunk, live_bytes);
    }
    ++ordinal_count_;
    end_event(end);
}

void TraceWriter::put_free(const FreeEvent& event, uint64_t tick, uint64_t live_bytes) {
    if (target_ == nullptr) {
        return;
    }
    live_bytes_ = live_bytes;
    if (event.context != 0 || event.kind != FreeEvent::Kind::kPlain) {
        put_extended_free(event, tick);
        return;
    }
    unsigned char* out = begin_event(Op::kFree, tick, format::kMaxVarintBytes);
    if (out != nullptr) {
        end_event(format::put_uv(out, event.back));
    }
}

void TraceWriter::repeat_free(uint64_t back, uint64_t tick, uint64_t live_bytes) {
    live_bytes_ = live_bytes;
    end_event(format::put_uv(put_tag(Op::kFree, tick), back));
}

void TraceWriter::put_extended_free(const FreeEvent& event, uint64_t tick) {
    if (event.context > emitted_[static_cast<size_t>(DefType::kContext)]) {
        define_new_slow();
    }
    const uint64_t fields[] = {event.back, event.context};
    put_extended(extended_type(event.kind), fields, event.context != 0 ? 2 : 1, tick);
}

void TraceWriter::put_extended(format::ExtendedType type,
                               const uint64_t* values,
                               size_t value_count,
                               uint64_t tick) {
    if (target_ == nullptr) {
        return;
    }
    unsigned char body[format::NumberRecords::kMaxFields * format::kMaxVarintBytes];
    unsigned char* body_end = body;
    for (size_t i = 0; i < value_count; ++i) {
        body_end = format::put_uv(body_end, values[i]);
    }
    const auto length = static_cast<size_t>(body_end - body);
    unsigned char* out = begin_event(Op::kExtended, tick, 2 * format::kMaxVarintBytes + length);
    if (out == nullptr) {
        return;
    }
    totals_.add_extended(type, values, tick);
    if (recycles()) {
        standing_.see(type, values);
    }
    end_event(put_record(out, static_cast<uint64_t>(type), body, length));
}

}  // namespace peakline::record
