// The live requests of the driver by kind and key. Used by StandingRecords under the recorder's
// lock.
#pragma once

#include <cstdint>

#include "allocator/record/format/trace_format.h"
#include "allocator/record/tables/hash_table.h"
#include "allocator/record/tables/mix64.h"

namespace peakline::record {

struct DriverRequest {
    format::DriverAlloc record = {};  // kind 0: a free slot
    uint64_t made_for = 0;            // string, see format::MadeFor
    uint64_t shared_name = 0;         // string, see format::SharedMemory
    bool is_shared = false;

    static uint64_t hash_of(format::DriverKind kind, uint64_t key) {
        return mix64(key + static_cast<uint64_t>(kind));
    }
    bool is_used() const { return static_cast<uint64_t>(record.kind) != 0; }
    uint64_t hash() const { return hash_of(record.kind, record.key); }
};

class DriverRequests : public HashTable<DriverRequest> {
public:
    DriverRequest* find(format::DriverKind kind, uint64_t key) {
        return HashTable::find(DriverRequest::hash_of(kind, key), [=](const DriverRequest& one) {
            return one.record.key == key && one.record.kind == kind;
        });
    }
};

}  // namespace peakline::record
