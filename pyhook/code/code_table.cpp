#include "code_table.h"

#include <new>

#include "allocator/record/hot_data.h"
#include "instances.h"
#include "pyhook/frames/thread_scratch.h"

namespace peakline::pyhook {
namespace {

constexpr uint32_t kMaxKeySerial = 1U << 26;
constexpr uint64_t kMaxKeyOffset = uint64_t{1} << 20;
constexpr size_t kFrameCapacity = size_t{1} << 16;

struct FrameKey {
    uint64_t low;   // well mixed: the slot in the cache
    uint64_t high;  // the key itself, so that equality is exact
};

// Code objects are smaller than 2^20 bytes, and there are fewer than 2^26 serials; other frames are
// not cached: see intern_frame_slow.
FrameKey key_of(uint32_t serial, int64_t byte_offset, uint32_t instance) {
    const auto offset = static_cast<uint64_t>(byte_offset);
    const uint64_t key = (uint64_t{serial} << 20U | offset) << 18U | instance;
    return {record::mix64(key), key};
}

}  // namespace

// Not destroyed: code dies and threads capture until the process ends.
[[PEAKLINE_HOT_DATA]] constinit CodeTable g_code_table;

bool CodeTable::init() {
    frames_ = new (std::nothrow) record::RawStackCache;
    if (frames_ == nullptr || !frames_->init(kFrameCapacity)) {
        return false;
    }
    const record::LockGuard guard(lock_);
    return entries_->init(kMostEntries);
}

// Requires lock_. If another thread was first, `entry` becomes its entry.
void CodeTable::insert(Entry& entry) {
    Entry* const known = entries_->find(entry.address);
    if (known != nullptr && known->file != 0) {
        entry = *known;
        return;
    }
    Entry* const slot = known != nullptr ? known : entries_->add(entry);
    if (slot == nullptr) {
        overflowed_ = true;
        return;
    }
    entry.serial = ++last_serial_;
    *slot = entry;
}

uint32_t CodeTable::intern_frame_slow(const CodeReader& reader,
                                      const RawFrame& frame,
                                      uint32_t instance,
                                      record::StackTable& table,
                                      char* text) {
    Entry entry{};
    {
        const record::LockGuard guard(lock_);
        if (const Entry* const known = entries_->find(frame.code)) {
            entry = *known;
        }
    }
    if (entry.file == 0 && !name_code_slow(reader, frame, table, text, &entry)) {
        return 0;
    }
    const int64_t offset = reader.byte_offset(frame);
    const bool fits = entry.serial != 0 && entry.serial < kMaxKeySerial &&
                      static_cast<uint64_t>(offset) < kMaxKeyOffset && instance <= kMaxInstances;
    const FrameKey key = key_of(entry.serial, offset, instance);
    uint32_t id = fits ? frames_->find(key.low, key.high) : 0;
    if (id == 0) {
        id = table.intern_python_frame(
            entry.file, entry.name, entry.qualified_name, reader.line(frame), instance);
        if (id != 0 && fits) {
            frames_->insert(key.low, key.high, id);
        }
    }
    return id;
}

// Interns the strings without our lock: we call nobody while holding it.
bool CodeTable::name_code_slow(const CodeReader& reader,
                               const RawFrame& frame,
                               record::StackTable& table,
                               char* text,
                               Entry* named) {
    Entry entry = {{frame.code}, 0, 0, 0, 0};
    size_t length = reader.copy_file(frame, text, kMaxTextBytes);
    entry.file = table.intern_string(text, length);
    length = reader.copy_name(frame, text, kMaxTextBytes);
    entry.name = table.intern_string(text, length);
    length = reader.copy_qualified_name(frame, text, kMaxTextBytes);
    entry.qualified_name = table.intern_string(text, length);
    if (entry.file == 0 || entry.name == 0 || entry.qualified_name == 0) {
        return false;
    }
    {
        const record::LockGuard guard(lock_);
        insert(entry);  // when full, serial stays 0, and from now on every death counts
    }
    *named = entry;
    return true;
}

void CodeTable::watch(uint64_t code) {
    Entry entry = {{code}, 0, 0, 0, 0};
    const record::LockGuard guard(lock_);
    insert(entry);
}

void CodeTable::code_died(uint64_t code) {
    const record::LockGuard guard(lock_);
    Entry* const entry = entries_->find(code);
    if (entry != nullptr) {
        entries_->remove(entry);
    } else if (!overflowed_) {
        return;
    }
    // relaxed: see Note [Code epoch].
    epoch_.fetch_add(1, std::memory_order_relaxed);
}

void CodeTable::forget() {
    const record::LockGuard guard(lock_);
    entries_->change_each([](Entry& entry) {
        entry.file = 0;  // still watched, but named again with a new serial
    });
    epoch_.fetch_add(1, std::memory_order_relaxed);
}

void CodeTable::prepare_fork() {
    lock_.lock();
    if (frames_ != nullptr) {
        frames_->prepare_fork();
    }
}

void CodeTable::parent_after_fork() {
    if (frames_ != nullptr) {
        frames_->parent_after_fork();
    }
    lock_.unlock();
}

void CodeTable::child_after_fork() {
    if (frames_ != nullptr) {
        frames_->child_after_fork();
    }
    lock_.reset_after_fork();
}

}  // namespace peakline::pyhook
