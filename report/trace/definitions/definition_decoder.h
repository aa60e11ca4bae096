// Decodes DEFS payloads into Definitions. A record that is framed well but refers to unknown ids
// keeps its own id as an empty definition, so that the ids after it stay right. Used by
// read_definitions() only.
//
// Note [Lost definitions]
// Every chunk states the ids it begins with. After an unreadable chunk, the ids up to there are
// filled with definitions that refer to kLost, an id that no table has. At the end, each reference
// to an id that does not exist becomes the id of an explicit lost definition of its kind.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "definitions.h"
#include "report/trace/file/field_cursor.h"

namespace peakline::report {

class DefinitionDecoder {
public:
    explicit DefinitionDecoder(Definitions* out) : out_(*out) {}

    // Call it before each chunk. False when the header cannot be true: then the ids of the chunk
    // are unknown.
    bool begin_chunk(const format::ChunkHeader& header);
    void decode(const TypedRecord& record);
    // A chunk of definitions was skipped: any undefined id may be one of them.
    void note_loss() { after_loss_ = some_lost_ = true; }
    // Call it at the end. Contexts may come before the definitions they refer to, so ids are
    // checked when all are known.
    void finish();
    uint64_t faulty_count() const { return faulty_count_; }
    uint64_t lost_count() const { return lost_count_; }

private:
    template <class T>
    void keep(ById<T>& table, const FieldCursor& cursor, const T& item) {
        table.add(cursor.good ? item : T{});
        faulty_count_ += cursor.good ? 0 : 1;
    }
    template <class T>
    void check(T* item, bool valid) {
        if (!valid) {
            *item = T{};
            ++faulty_count_;
        }
    }
    // Whether the id is defined. After a loss an undefined id becomes `lost_id`, which counts as
    // defined.
    template <class T>
    bool resolve(uint32_t* id, const ById<T>& table, uint32_t lost_id) const {
        if (!table.has(*id) && some_lost_) {
            *id = lost_id;
        }
        return table.has(*id);
    }
    std::array<uint32_t, format::kDefTypeCount> counts() const;
    void add_lost_definitions();
    void check_python();
    void check_native();
    template <class T>
    void decode_numbers(ById<T>& table, FieldCursor cursor);
    void decode_node(ById<StackNode>& nodes, std::vector<uint16_t>& depths, FieldCursor cursor);
    void decode_module(FieldCursor cursor);
    void decode_class(FieldCursor cursor);
    void decode_meta(FieldCursor cursor);
    void decode_instance(FieldCursor cursor);
    void decode_tensor(FieldCursor cursor);
    void decode_tensor_type(FieldCursor cursor);
    // Pairs of an ordinal and an id.
    template <class Block>
    void decode_blocks(std::vector<Block>& blocks, FieldCursor cursor);
    void decode_context_tag(FieldCursor cursor);
    void decode_holder_search(FieldCursor cursor);
    void decode_holder(FieldCursor cursor);
    template <class T>
    void keep_at(std::vector<T>& table, uint32_t id, const FieldCursor& cursor, const T& item);
    void check_objects();
    void check_contexts();
    void check_classes();

    Definitions& out_;
    // Number of frames of each node's stack, by id.
    std::vector<uint16_t> python_depths_;
    std::vector<uint16_t> native_depths_;
    uint64_t faulty_count_ = 0;
    uint64_t lost_count_ = 0;
    bool after_loss_ = false;  // since the last chunk that was read
    bool some_lost_ = false;
    // The lost definitions of kinds that only this class needs.
    uint32_t lost_frame_ = 0;
    uint32_t lost_module_ = 0;
    uint32_t lost_native_frame_ = 0;
    uint32_t lost_native_node_ = 0;
};

}  // namespace peakline::report
