#include "instances.h"

#include <cstring>

#include "code_table.h"
#include "pyhook/frames/python_layout.h"

namespace peakline::pyhook {
namespace {

constexpr size_t kMaxClassName = 256;

// tp_name. For Python classes it is the bare name, in memory that the class owns.
uint32_t intern_class_name(uint64_t address, record::StackTable& table) {
    const void* const type = read_at<const void*>(reinterpret_cast<void*>(address), kObjectType);
    const char* const name = read_at<const char*>(type, kTypeName);
    return table.intern_string(name, strnlen(name, kMaxClassName));
}

}  // namespace

constinit InstanceTable g_instances;

bool InstanceTable::init() {
    const record::LockGuard guard(lock_);
    return entries_->is_ready() || entries_->init(kMaxInstances);
}

uint32_t InstanceTable::intern_slow(uint64_t address, record::StackTable& table, bool is_call) {
    if (address == 0) {
        return 0;
    }
    uint32_t id = 0;
    {
        const record::LockGuard guard(lock_);
        Entry* const known = entries_->find(address);
        if (known != nullptr && known->id != 0) {
            if (is_call && known->is_called == 0) {
                known->is_called = 1;
                has_news_.store(true, std::memory_order_relaxed);
            }
            return known->id;
        }
        // Addresses stay in the table when their object dies.
        if (last_id_ == kMaxInstances) {
            return 0;
        }
        Entry* const entry = known != nullptr ? known : entries_->add({{address}, 0, 0});
        if (entry == nullptr) {
            return 0;
        }
        entry->is_called = is_call ? 1 : 0;
        id = entry->id = ++last_id_;
    }
    table.report_instance({id, intern_class_name(address, table), 0, 0});
    has_news_.store(true, std::memory_order_relaxed);
    return id;
}

bool InstanceTable::knows(uint64_t address) {
    const record::LockGuard guard(lock_);
    const Entry* const known = entries_->find(address);
    return known != nullptr && known->id != 0;
}

void InstanceTable::died(uint64_t address) {
    const record::LockGuard guard(lock_);
    Entry* const known = entries_->find(address);
    if (known != nullptr && known->id != 0) {
        known->id = 0;
        g_code_table.bump_epoch();
    }
}

void InstanceTable::forget() {
    const record::LockGuard guard(lock_);
    entries_->change_each([](Entry& entry) { entry.id = 0; });
}

}  // namespace peakline::pyhook
