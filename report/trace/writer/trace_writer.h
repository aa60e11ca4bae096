// Writes traces of events that another tool recorded: `peakline import` uses it for snapshots of
// torch. Every chunk is whole when it reaches the file. allocator/record writes our own recordings,
// which survive the death of the program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "report/trace/events/event_decoder.h"
#include "report/trace/file/new_file.h"

namespace peakline::report {

// An allocation with all its properties.
struct WrittenAlloc {
    uint32_t context = 0;
    uint32_t device = 0;
    uint32_t stream = 0;
    uint64_t requested_bytes = 0;
    uint64_t block_bytes = 0;
    uint64_t address = 0;
};

class TraceWriter {
public:
    // Throws TraceError when the file cannot be created, for example because it exists.
    TraceWriter(const std::string& path, uint64_t start_realtime_ns);

    // Each returns an id; equal arguments give the same id. 0 means none.
    uint32_t string(const std::string& text);
    uint32_t python_frame(const std::string& file, uint32_t line, const std::string& name);
    uint32_t python_node(uint32_t parent, uint32_t frame);
    uint32_t stream(uint64_t handle);
    // `tag`: a string id, the program's name for this memory.
    uint32_t context(uint32_t python_node, uint32_t flags, uint32_t tag);
    void meta(const std::string& key, const std::string& value);

    // Times are ticks since the start. An earlier time than the last event's counts as that.
    // Returns the ordinal, for free().
    uint64_t alloc(uint64_t tick, const WrittenAlloc& block);
    void free(uint64_t tick, uint64_t ordinal, uint64_t bytes, FreeKind kind, uint32_t context);
    template <class Record>
    void put(uint64_t tick, const Record& record) {
        Payload body;
        for (const uint64_t field : format::fields_of(record)) {
            put_number(body, field);
        }
        put_extended(tick, Record::kType, body);
    }

    // Throws TraceError when not everything reached the disk.
    void finish();

private:
    using Payload = std::vector<unsigned char>;
    struct Chunk {
        format::ChunkHeader header = {};
        Payload payload;
    };

    static void put_number(Payload& out, uint64_t value);
    static Payload record_of(uint64_t type, const Payload& body);
    template <class Definition>
    uint32_t define(format::DefType type, const Definition& definition, uint32_t tag = 0);
    void put_definition(format::DefType type, const Payload& body);
    void put_event(uint64_t tick, format::Op op, const Payload& body);
    void put_extended(uint64_t tick, format::ExtendedType type, const Payload& body);
    void begin_definitions();
    void begin_events();
    bool has_room(const Chunk& chunk, size_t bytes) const;
    void write(Chunk& chunk, bool is_last);

    NewFile file_;
    Chunk definitions_;
    Chunk events_;
    uint64_t chunk_count_ = 0;
    uint32_t definition_counts_[format::kDefTypeCount] = {};
    std::map<std::string, uint32_t> strings_;
    std::map<std::tuple<format::DefType, std::vector<unsigned char>, uint32_t>, uint32_t> known_;
    uint64_t event_count_ = 0;
    uint64_t ordinal_ = 0;
    uint64_t tick_ = 0;
    uint64_t address_ = 0;
    uint64_t live_bytes_ = 0;
};

}  // namespace peakline::report
