#include "standing_records.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace peakline::record {
namespace {

using format::AllocatorAction;
using format::DriverKind;
using format::SegmentAction;

// Only address space; no program comes near it.
constexpr size_t kMaxPieces = 1U << 20;
constexpr size_t kMaxPools = 1U << 16;
constexpr size_t kMaxUnseen = 1U << 16;
constexpr size_t kFirstRequests = 256;
constexpr size_t kMaxScopes = 1U << 12;  // further ones are dropped: they only mark phases

constexpr DriverKind kKindsOfSegments[] = {
    DriverKind::kDevice, DriverKind::kPitch, DriverKind::kMapping, DriverKind::kAsync};

}  // namespace

bool StandingRecords::begin_trace() {
    is_whole_ = true;
    settings_ = 0;
    has_last_piece_ = has_last_request_ = false;
    devices_.clear();
    return pieces_.clear_with_room(kMaxPieces) && owners_.clear_with_room(kMaxPools) &&
           pools_.clear_with_room(kMaxPools) && unseen_.clear_with_room(kMaxUnseen) &&
           devices_.clear_with_room(format::kDeviceCount) && scopes_.clear_with_room(kMaxScopes) &&
           devices_.resize(format::kDeviceCount) && requests_.init(kFirstRequests);
}

void StandingRecords::see(format::ExtendedType type, const uint64_t* fields) {
    format::NumberRecords::visit(type, fields, [this](const auto& record) { see(record); });
}

void StandingRecords::see(const format::Scope& scope) {
    if (scope.action == format::ScopeAction::kBegin) {
        scopes_.push(scope);
        return;
    }
    for (size_t i = scopes_.size(); i-- > 0;) {
        if (scopes_[i].thread == scope.thread && scopes_[i].name == scope.name) {
            format::Scope* const slot = &scopes_[i];
            std::memmove(slot, slot + 1, (scopes_.size() - 1 - i) * sizeof *slot);
            scopes_.resize_untouched(scopes_.size() - 1);
            return;
        }
    }
}

StandingRecords::Device* StandingRecords::device_of(uint64_t number) {
    if (number >= devices_.size()) {
        return nullptr;
    }
    devices_[number].is_used = true;
    return &devices_[number];
}

// ---- segments ---------------------------------------------------------------------------------

void StandingRecords::see(const format::Segment& segment) {
    has_last_piece_ = false;
    cut(segment.device, segment.address, segment.address + segment.bytes);
    if (segment.action == SegmentAction::kMap || segment.action == SegmentAction::kAlloc) {
        insert_piece(first_piece_from(segment.device, segment.address),
                     {segment.device,
                      segment.address,
                      segment.bytes,
                      segment.stream,
                      0,
                      settings_,
                      segment.action});
        has_last_piece_ = true;
        last_device_ = segment.device;
        last_address_ = segment.address;
    }
    follow_unseen(segment);
}

void StandingRecords::see(const format::InPool& pool) {
    const size_t at = has_last_piece_ ? first_piece_from(last_device_, last_address_) : 0;
    if (has_last_piece_ && at < pieces_.size() && pieces_[at].address == last_address_) {
        pieces_[at].pool = pool.pool;
    }
}

uint64_t StandingRecords::reserved_bytes(uint64_t device) const {
    uint64_t bytes = 0;
    for (const Piece& piece : pieces_) {
        bytes += piece.device == device ? piece.bytes : 0;
    }
    return bytes;
}

size_t StandingRecords::first_piece_from(uint64_t device, uint64_t address) const {
    const Piece wanted = {device, address, 0, 0, 0, 0, {}};
    const Piece* const found = std::lower_bound(
        pieces_.begin(), pieces_.end(), wanted, [](const Piece& one, const Piece& two) {
            return one.is_before(two);
        });
    return static_cast<size_t>(found - pieces_.begin());
}

void StandingRecords::insert_piece(size_t at, const Piece& piece) {
    if (!pieces_.push(piece)) {
        need(false);
        return;
    }
    Piece* const slot = &pieces_[at];
    std::memmove(slot + 1, slot, (pieces_.size() - 1 - at) * sizeof(Piece));
    *slot = piece;
}

void StandingRecords::erase_piece(size_t at) {
    Piece* const slot = &pieces_[at];
    std::memmove(slot, slot + 1, (pieces_.size() - 1 - at) * sizeof(Piece));
    pieces_.resize_untouched(pieces_.size() - 1);
}

// Takes the range out of all pieces.
void StandingRecords::cut(uint64_t device, uint64_t begin, uint64_t end) {
    size_t at = first_piece_from(device, begin);
    if (at != 0 && pieces_[at - 1].device == device && pieces_[at - 1].end() > begin) {
        --at;
    }
    while (at < pieces_.size() && pieces_[at].device == device && pieces_[at].address < end) {
        const Piece whole = pieces_[at];
        erase_piece(at);
        if (whole.address < begin) {
            Piece below = whole;
            below.bytes = begin - whole.address;
            insert_piece(at++, below);
        }
        if (whole.end() > end) {
            Piece above = whole;
            above.address = end;
            above.bytes = whole.end() - end;
            insert_piece(at++, above);
        }
    }
}

void StandingRecords::see(const format::AllocatorCall& call) {
    Device* const device = device_of(call.device);
    if (call.action == AllocatorAction::kFractionSet && device != nullptr) {
        device->has_fraction = true;
        device->fraction = call.value;
    }
    const bool comes = call.action == AllocatorAction::kPoolCreated ||
                       call.action == AllocatorAction::kRoutingBegun;
    if (!comes && call.action != AllocatorAction::kPoolReleased) {
        return;
    }
    for (size_t i = 0; i < owners_.size(); ++i) {
        Owners& owners = owners_[i];
        if (owners.device == call.device && owners.pool == call.pool) {
            owners.count += comes ? 1 : -uint64_t{1};
            if (owners.count == 0) {
                owners = owners_[owners_.size() - 1];
                owners_.resize_untouched(owners_.size() - 1);
            }
            return;
        }
    }
    need(!comes || owners_.push({call.device, call.pool, 1}));
}

// ---- the driver -------------------------------------------------------------------------------

void StandingRecords::see(const format::DriverAlloc& request) {
    remove_request(requests_.find(request.kind, request.key));  // its end was not seen
    need(requests_.add({request}) != nullptr);
    has_last_request_ = true;
    last_kind_ = request.kind;
    last_key_ = request.key;
    if (Device* const device = device_of(request.device)) {
        ++device->use.calls_since_sample;
        device->use.device_bytes += format::is_on_device(request.kind) ? request.bytes : 0;
    }
}

void StandingRecords::see(const format::MadeFor& made) {
    DriverRequest* const request =
        has_last_request_ ? requests_.find(last_kind_, last_key_) : nullptr;
    if (request != nullptr) {
        request->made_for = made.text;
    }
}

void StandingRecords::see(const format::SharedMemory& shared) {
    if (DriverRequest* const request = requests_.find(shared.kind, shared.key)) {
        request->is_shared = true;
        request->shared_name = shared.name;
    }
}

void StandingRecords::see(const format::DriverFree& end) {
    has_last_request_ = false;
    remove_request(requests_.find(end.kind, end.key));
}

void StandingRecords::remove_request(DriverRequest* request) {
    if (request == nullptr) {
        return;
    }
    const format::DriverAlloc& record = request->record;
    if (Device* const device = device_of(record.device)) {
        ++device->use.calls_since_sample;
        device->use.device_bytes -= format::is_on_device(record.kind) ? record.bytes : 0;
    }
    requests_.remove(request);
}

void StandingRecords::see(const format::DeviceProcesses& processes) {
    if (Device* const device = device_of(processes.device)) {
        device->use.apply(processes);
    }
}

void StandingRecords::see(const format::DriverSample& sample) {
    if (Device* const device = device_of(sample.device)) {
        device->use.apply(sample);
    }
}

void StandingRecords::see(const format::PoolSample& sample) {
    Device* const device = device_of(sample.device);
    if (device == nullptr) {
        return;
    }
    format::PoolSample* unused = nullptr;  // slot of an empty pool
    for (format::PoolSample& pool : pools_) {
        if (pool.device == sample.device && pool.pool == sample.pool) {
            device->use.pool_bytes += sample.reserved_bytes - pool.reserved_bytes;
            pool = sample;
            return;
        }
        unused = pool.reserved_bytes == 0 ? &pool : unused;
    }
    device->use.pool_bytes += sample.reserved_bytes;
    if (unused != nullptr) {
        *unused = sample;
    } else {
        need(pools_.push(sample));
    }
}

// A segment usually has a request with the same address.
bool StandingRecords::was_requested(uint64_t device, uint64_t address) {
    const auto holds = [&](const format::DriverAlloc& record) {
        return record.device == device && address - record.key < record.bytes;
    };
    for (const DriverKind kind : kKindsOfSegments) {
        const DriverRequest* const request = requests_.find(kind, address);
        if (request != nullptr && holds(request->record)) {
            return true;
        }
    }
    const format::DriverAlloc* below[std::size(kKindsOfSegments)] = {};  // the last one
    requests_.for_each([&](const DriverRequest& request) {
        const format::DriverAlloc& record = request.record;
        for (size_t i = 0; i < std::size(below); ++i) {
            if (record.kind == kKindsOfSegments[i] && record.device == device &&
                record.key <= address && (below[i] == nullptr || record.key > below[i]->key)) {
                below[i] = &record;
            }
        }
    });
    return std::any_of(std::begin(below), std::end(below), [&](const format::DriverAlloc* record) {
        return record != nullptr && holds(*record);
    });
}

void StandingRecords::follow_unseen(const format::Segment& segment) {
    Device* const device = device_of(segment.device);
    if (device == nullptr) {
        return;
    }
    for (size_t i = 0; i < unseen_.size(); ++i) {
        Unseen& one = unseen_[i];
        if (one.device == segment.device && one.address == segment.address) {
            device->use.unseen_bytes -= one.bytes;
            one = unseen_[unseen_.size() - 1];
            unseen_.resize_untouched(unseen_.size() - 1);
            break;
        }
    }
    const bool grows =
        segment.action == SegmentAction::kAlloc || segment.action == SegmentAction::kMap;
    if (grows && !was_requested(segment.device, segment.address)) {
        device->use.unseen_bytes += segment.bytes;
        need(unseen_.push({segment.device, segment.address, segment.bytes}));
    }
}

}  // namespace peakline::record
