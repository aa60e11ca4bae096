// The state that results from the rare records of a bounded trace: torch's segments, requests of
// the driver, its pools and samples, the allocator's settings, the open scopes. A checkpoint writes
// it, since the records themselves may be gone. The trace writer passes it every such record, under
// the recorder's lock. Never calls malloc.
//
// The rules are those of report/views/segments/segment_pieces.h and
// report/views/ledger/driver_memory.h: a reader that begins here reaches the same state as one that
// read every record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/format/trace_format.h"
#include "allocator/record/levels/device_use.h"
#include "allocator/record/tables/mapped_array.h"
#include "driver_requests.h"

namespace peakline::record {

class TraceWriter;

class StandingRecords {
public:
    // Forgets everything. False when memory cannot be mapped.
    bool begin_trace();
    // An extended record with the fields of its type.
    void see(format::ExtendedType type, const uint64_t* fields);
    // All segments of a device.
    uint64_t reserved_bytes(uint64_t device) const;
    // See Note [Standing records] in trace_format.h. Writes nothing if some part had no room.
    void write_to(TraceWriter& writer) const;

private:
    // A part of a segment that comes and goes as a unit; ordered by device, then address.
    struct Piece {
        uint64_t device;
        uint64_t address;
        uint64_t bytes;
        uint64_t stream;
        uint64_t pool;
        uint32_t settings;  // string of the settings at its creation; 0: those of the start
        format::SegmentAction action;
        uint64_t end() const { return address + bytes; }
        bool is_before(const Piece& other) const {
            return device != other.device ? device < other.device : address < other.address;
        }
    };
    struct Owners {
        uint64_t device;
        uint64_t pool;
        uint64_t count;
    };
    struct Unseen {
        uint64_t device;
        uint64_t address;
        uint64_t bytes;
    };
    struct Device {
        DeviceUse use;
        bool is_used = false;
        bool has_fraction = false;
        uint64_t fraction = 0;  // bits of the double
    };

    // One for each of format::NumberRecords; a missing one is a compile error.
    void see(const format::Segment& segment);
    void see(const format::InPool& pool);
    void see(const format::Refusal&) { has_last_piece_ = false; }  // a pool after it is its own
    void see(const format::AllocatorCall& call);
    void see(const format::AllocatorSettings& settings) {
        settings_ = static_cast<uint32_t>(settings.text);
    }
    void see(const format::DriverAlloc& request);
    void see(const format::MadeFor& made);
    void see(const format::SharedMemory& shared);
    void see(const format::DriverFree& end);
    void see(const format::PoolSample& sample);
    void see(const format::DriverSample& sample);
    void see(const format::DeviceProcesses& processes);
    void see(const format::Scope& scope);
    // These leave no state: each describes its moment, or has its own summary record.
    void see(const format::Mark&) {}
    void see(const format::OutOfMemory&) {}
    void see(const format::DeviceMemory&) {}
    void see(const format::ValueRead&) {}
    void see(const format::ScopeCaller&) {}
    void see(const format::SavedBlock&) {}
    void see(const format::Loss&) {}
    void see(const format::Stopped&) {}

    size_t first_piece_from(uint64_t device, uint64_t address) const;
    void cut(uint64_t device, uint64_t begin, uint64_t end);
    void insert_piece(size_t at, const Piece& piece);
    void erase_piece(size_t at);
    void follow_unseen(const format::Segment& segment);
    bool was_requested(uint64_t device, uint64_t address);
    void remove_request(DriverRequest* request);
    // nullptr: no such device.
    Device* device_of(uint64_t number);
    // Without room the state would be incomplete from then on.
    void need(bool has_room) { is_whole_ = is_whole_ && has_room; }

    uint64_t write_segments(TraceWriter& writer) const;
    uint64_t write_calls(TraceWriter& writer) const;
    uint64_t write_scopes(TraceWriter& writer) const;
    uint64_t write_requests(TraceWriter& writer) const;
    uint64_t write_devices(TraceWriter& writer) const;

    bool is_whole_ = true;
    uint32_t settings_ = 0;  // string; 0: those of the start
    // The piece and the request that the next record may refer to.
    uint64_t last_device_ = 0;
    uint64_t last_address_ = 0;
    bool has_last_piece_ = false;
    bool has_last_request_ = false;
    format::DriverKind last_kind_ = {};
    uint64_t last_key_ = 0;
    MappedArray<Piece> pieces_;
    MappedArray<Owners> owners_;  // of private pools
    MappedArray<Unseen> unseen_;  // segments without a request
    MappedArray<format::PoolSample> pools_;
    MappedArray<Device> devices_;
    MappedArray<format::Scope> scopes_;  // the open ones, in the order of their begin
    DriverRequests requests_;
};

}  // namespace peakline::record
