#include "instances.h"

#include <cstring>

#include "code_table.h"
#include "pyhook/frames/python_layout.h"

namespace peakline::pyhook {
namespace {

constexpr unsigned kSlotBits = 19;
constexpr size_t kSlots = size_t{1} << kSlotBits;
constexpr size_t kMaxClassName = 256;

// tp_name: for classes of Python the name alone, in memory that the class owns.
uint32_t intern_class_name(uint64_t address, record::StackTable& table) {
    const void* const type = read_at<const void*>(reinterpret_cast<void*>(address), kObjectType);
    const char* const name = read_at<const char*>(type, kTypeName);
    return table.intern_string(name, strnlen(name, kMaxClassName));
}

}  // namespace

constinit InstanceTable g_instances;

bool InstanceTable::init() {
    const record::LockGuard guard(lock_);
    return entries_.capacity() != 0 ||
           (entries_.reserve(kSlots) && entries_.resize_untouched(kSlots));
}

InstanceTable::Entry* InstanceTable::find(uint64_t address) {
    size_t i = (address >> 4) * 0x9E3779B97F4A7C15U >> (64 - kSlotBits);
    while (entries_[i].address != 0 && entries_[i].address != address) {
        i = (i + 1) % kSlots;
    }
    return &entries_[i];
}

uint32_t InstanceTable::intern_slow(uint64_t address, record::StackTable& table) {
    if (address == 0) {
        return 0;
    }
    uint32_t id = 0;
    {
        const record::LockGuard guard(lock_);
        if (entries_.capacity() == 0) {
            return 0;
        }
        Entry* const entry = find(address);
        if (entry->id != 0) {
            return entry->id;
        }
        // Addresses stay in the table when their object dies: half of it is for them.
        if (last_id_ == kMaxInstances || (entry->address == 0 && used_ == kMaxInstances)) {
            return 0;
        }
        used_ += entry->address == 0 ? 1 : 0;
        id = ++last_id_;
        *entry = {address, id, 0};
    }
    table.tell_instance({id, intern_class_name(address, table), 0, 0});
    has_news_.store(true, std::memory_order_relaxed);
    return id;
}

bool InstanceTable::knows(uint64_t address) {
    const record::LockGuard guard(lock_);
    return entries_.capacity() != 0 && find(address)->id != 0;
}

void InstanceTable::died(uint64_t address) {
    const record::LockGuard guard(lock_);
    if (entries_.capacity() == 0) {
        return;
    }
    Entry* const entry = find(address);
    if (entry->id != 0) {
        entry->id = 0;
        g_code_table.bump_epoch();
    }
}

void InstanceTable::forget() {
    const record::LockGuard guard(lock_);
    for (Entry& entry : entries_) {
        entry.id = 0;
    }
}

}  // namespace peakline::pyhook
