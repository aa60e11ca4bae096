// Encodes records into the chunks of trace_format.h. Used by the recorder under its lock; not
// thread safe itself. Never throws and never reaches the program: after a failure `is_open()` is
// false, error() is the errno, and every later call does nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "alloc_event.h"
#include "allocator/record/files/chunk_target.h"
#include "allocator/record/format/trace_format.h"
#include "allocator/record/tables/stack_table.h"
#include "chunk_ring.h"
#include "class_table.h"
#include "standing_records.h"
#include "trace_totals.h"

namespace peakline::record {

// A block that the program frees.
struct FreeEvent {
    // kCompleted: of a deferred one.
    enum class Kind : uint32_t { kPlain, kDeferred, kCompleted };
    uint64_t back = 0;     // next ordinal minus its ordinal
    uint32_t context = 0;  // of the free; 0: not recorded
    Kind kind = Kind::kPlain;
};

// An allocation in the form of the trace.
struct WrittenAlloc {
    using Address [[gnu::aligned(4)]] = uint64_t;  // no padding: compared by its bytes

    Address previous_address;  // of the previous allocation; its own is relative to this
    uint32_t class_id;
    uint8_t length;  // of the body; 0: it cannot be repeated
    unsigned char body[7];
};
static_assert(sizeof(WrittenAlloc) == 20);

// A live allocation that stores a tensor.
struct TensorBlock {
    uint64_t back;    // next ordinal minus its ordinal, as in free records
    uint32_t tensor;  // id of StackTable::intern_tensor; 0: has no name
    uint32_t type;    // id of StackTable::intern_tensor_type; 0: not known
};

// The part of a recording that stays in its file.
struct Keep {
    enum class Kind : uint32_t {
        kAll,   // every event
        kLast,  // the newest events, as many as fit in `bytes`
        kPeak,  // peaks; only events that are newer than the last checkpoint
    };
    Kind kind = Kind::kAll;
    uint64_t bytes = 0;
};

// The state of a recording at a checkpoint.
struct CheckpointState {
    uint64_t next_ordinal;
    uint64_t tick;
    bool is_tracing;
};

class TraceWriter {
public:
    // Starts writing to `target`, which the caller owns. Defines everything in `table`.
    void open(ChunkTarget* target, StackTable* table, Keep keep = Keep{});
    bool is_open() const { return target_ != nullptr; }
    int error() const { return error_; }

    // Returns the written form.
    WrittenAlloc put_alloc(const AllocEvent& event, uint64_t tick, uint64_t live_bytes);
    // Whether events may be repeated: this needs defined names, room in the open chunk, and no
    // checkpoint after the event. The caller allows it while an event needs no other work.
    void let_repeat(bool is_allowed) {
        is_repeat_allowed_ = is_allowed;
        find_repeats_end();
    }
    bool can_repeat() const { return events_.at < repeats_end_; }
    // Whether the same bytes, written again, would mean the same allocation.
    bool means_the_same(const WrittenAlloc& written) const {
        return written.length != 0 && written.previous_address == last_address_;
    }
    // Writes it again. Only while can_repeat() and means_the_same().
    void repeat_alloc(const WrittenAlloc& written,
                      uint64_t address,
                      uint64_t tick,
                      uint64_t live_bytes);
    // `back` as in a plain FreeEvent. Only while can_repeat().
    void repeat_free(uint64_t back, uint64_t tick, uint64_t live_bytes);
    void put_free(const FreeEvent& event, uint64_t tick, uint64_t live_bytes);
    template <class Record>
    void put(const Record& record, uint64_t tick) {
        static_assert(format::NumberRecords::kHas<Record>, "add it to format::NumberRecords");
        const auto fields = format::fields_of(record);
        if (is_open()) {
            define_new_slow();  // all names in the record
        }
        put_extended(Record::kType, fields.data(), fields.size(), tick);
    }
    // Writes the known names and types.
    void put_tensor_blocks(const TensorBlock* blocks, size_t count);
    // Writes the inputs of modules; `tensor` of each block is the instance.
    void put_inputs(const TensorBlock* blocks, size_t count);
    // See Note [Holders] in format/definitions.h. `back`: next ordinal minus the block's. A text
    // that is too long is cut.
    void put_holder_search(const format::HolderSearch& search);
    void put_holder(format::Holder holder, uint64_t back, const char* text, size_t length);
    void put_meta(const char* key, const char* value, size_t value_length);
    // At most kMaxSummaryValues. False when the record is not in the file.
    static constexpr size_t kMaxSummaryValues = 64;
    bool put_summary(format::SummaryType type, const uint64_t* values, size_t value_count);
    // Writes counts of all events so far, see Note [Totals] in trace_format.h; none in a bounded
    // file. Without room it writes none, and the file stays valid. True if they are in the file.
    // Only closing and put_views_end() may follow.
    bool put_totals();
    // See Note [Views at the end] in trace_format.h; call it after the views of every device.
    void put_views_end();
    // The end of the program's main in this file; 0: not yet.
    uint64_t main_end_tick() const { return totals_.main_end_tick(); }
    // Events name allocations that are not in the file.
    void give_up_totals() { totals_.give_up(); }

    // See Note [Checkpoints] in trace_format.h. The caller writes a due checkpoint between two
    // events: begin, put_summary and put_baseline_block, end.
    bool is_bounded() const { return target_ != nullptr && recycles(); }
    bool checkpoint_is_due() const { return events_.at >= checkpoint_at_; }
    void begin_checkpoint(const CheckpointState& state);
    // `back`: next ordinal minus the block's.
    void put_baseline_block(const AllocEvent& event, uint64_t back, uint32_t flags);
    // Releases the chunks that need not be kept.
    void end_checkpoint();

    // Writes the new definitions of the table since the last call: before an event names them.
    [[gnu::noinline]] void define_new_slow();

    // Bytes of torch's segments on the device; only in a bounded file.
    uint64_t reserved_bytes(uint64_t device) const { return standing_.reserved_bytes(device); }
    // The highest level of all GPUs since the last call.
    uint64_t take_peak_bytes();

    // Seals the open chunks and releases unused space. Later records open new chunks.
    void seal();
    // Seals and releases the target.
    void close();
    // Releases it without writing: in the child of fork.
    void abandon();

    uint64_t event_count() const { return event_count_; }
    // Payload bytes.
    uint64_t byte_count() const {
        return sealed_bytes_ + events_.payload() + definitions_.payload() + summary_.payload();
    }

private:
    static constexpr size_t kLastWordsBytes = 32;
    // Definitions that the table has, in the order of DefType.
    static constexpr format::DefType kTableTypes[] = {format::DefType::kString,
                                                      format::DefType::kPythonFrame,
                                                      format::DefType::kPythonNode,
                                                      format::DefType::kModule,
                                                      format::DefType::kNativeFrame,
                                                      format::DefType::kNativeNode,
                                                      format::DefType::kThread,
                                                      format::DefType::kStream,
                                                      format::DefType::kContext,
                                                      format::DefType::kInstance,
                                                      format::DefType::kTensor,
                                                      format::DefType::kTensorType};
    static const unsigned char* never_due() {
        return reinterpret_cast<const unsigned char*>(UINTPTR_MAX);
    }
    struct OpenChunk {
        unsigned char* base = nullptr;
        unsigned char* at = nullptr;
        uint64_t index = 0;
        format::ChunkHeader* header() { return reinterpret_cast<format::ChunkHeader*>(base); }
        unsigned char* end() const { return base + format::kChunkBytes; }
        uint64_t payload() const {
            return base == nullptr ? 0
                                   : static_cast<uint64_t>(at - base) - sizeof(format::ChunkHeader);
        }
    };
    [[gnu::noinline, gnu::cold]] bool make_room_slow(OpenChunk& chunk,
                                                     format::ChunkType type,
                                                     size_t bytes);
    unsigned char* next_chunk_slow(format::ChunkType type, uint64_t* index);
    void release_oldest_slow();
    bool recycles() const { return keep_.kind != Keep::Kind::kAll; }
    // Eight segments, so that a release of the oldest one leaves seven eighths of `bytes`.
    uint64_t least_segment_chunks() const {
        return std::max<uint64_t>(keep_.bytes / format::kChunkBytes / 8, 1);
    }
    // The common part of an inline allocation, a class and a block of a checkpoint.
    static unsigned char* put_shape(unsigned char* out, const AllocEvent& event);
    // Writes type, length and body, the form of definitions, summaries and extended events.
    static unsigned char* put_record(unsigned char* out,
                                     uint64_t type,
                                     const unsigned char* body,
                                     size_t length);
    void put_checkpoint_part();
    void put_extended(format::ExtendedType type,
                      const uint64_t* values,
                      size_t value_count,
                      uint64_t tick);
    [[gnu::noinline]] void put_extended_free(const FreeEvent& event, uint64_t tick);
    bool put_summary_record(format::SummaryType type, const unsigned char* body, size_t length);
    // Keeps kLastWordsBytes free, so that a failure can still be written to the trace.
    bool has_room(OpenChunk& chunk, format::ChunkType type, size_t bytes) {
        return (chunk.base != nullptr && chunk.at + bytes + kLastWordsBytes <= chunk.end()) ||
               make_room_slow(chunk, type, bytes);
    }
    void find_repeats_end();
    void commit(OpenChunk& chunk, unsigned char* end);
    void seal_chunk(OpenChunk& chunk);
    void seal_chunks();
    unsigned char* begin_event(format::Op op, uint64_t tick, size_t max_body_bytes);
    // Needs room. Returns the position of the body.
    unsigned char* put_tag(format::Op op, uint64_t tick);
    void end_event(unsigned char* end);
    uint32_t class_of(const AllocEvent& event);
    void end_alloc(unsigned char* end, uint64_t address, uint64_t live_bytes);
    [[gnu::noinline]] void define_class_slow(ClassSlot& slot, const AllocEvent& event);
    void put_of_blocks(format::DefType type,
                       uint32_t TensorBlock::*id,
                       const TensorBlock* blocks,
                       size_t count);
    bool put_definition(format::DefType type, const unsigned char* body, size_t length);
    void fail(int error);

    // Every event uses the first ones.
    ChunkTarget* target_ = nullptr;
    OpenChunk events_;
    // A checkpoint is due once the open EVENTS chunk passes this; the end of memory disables it.
    const unsigned char* checkpoint_at_ = never_due();
    const unsigned char* repeats_end_ = nullptr;  // of the open EVENTS chunk
    uint64_t last_tick_ = 0;
    uint64_t last_address_ = 0;
    uint64_t event_count_ = 0;
    uint64_t ordinal_count_ = 0;
    uint64_t live_bytes_ = 0;
    uint64_t max_live_bytes_ = 0;     // of the open EVENTS chunk, or since take_peak_bytes()
    uint64_t peak_before_chunk_ = 0;  // since take_peak_bytes(), in earlier chunks
    TraceTotals totals_;
    StackTable* table_ = nullptr;
    int error_ = 0;
    OpenChunk definitions_;
    OpenChunk summary_;
    uint64_t next_chunk_ = 0;
    uint64_t last_chunk_bytes_ = 0;  // of the previous chunk, when it is sealed
    uint64_t sealed_bytes_ = 0;      // payload of closed chunks
    // Definitions written, by DefType; the first kDefTypeCount types have ids.
    uint32_t emitted_[static_cast<size_t>(std::max(*std::rbegin(kTableTypes),
                                                   format::DefType{format::kDefTypeCount - 1})) +
                      1] = {};
    ClassTable classes_;
    // Later records are optional: missing room for them is no failure.
    bool puts_totals_ = false;

    // For recordings with a bounded file.
    Keep keep_;
    ChunkRing ring_;
    StandingRecords standing_;
    CheckpointState checkpoint_ = {};
    uint64_t checkpoint_generation_ = 0;
    uint64_t checkpoint_parts_ = 0;
    uint64_t segment_chunks_ = 1;  // EVENTS chunks between two checkpoints
    uint64_t events_chunks_ = 0;   // since the last checkpoint
    uint64_t baseline_address_ = 0;
    bool in_checkpoint_ = false;
    bool is_repeat_allowed_ = false;
};

}  // namespace peakline::record
