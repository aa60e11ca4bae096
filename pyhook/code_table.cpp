#include "code_table.h"

#include <new>

#include <sys/mman.h>

#include "allocator/record/hot_data.h"
#include "instances.h"
#include "thread_scratch.h"

namespace peakline::pyhook {
namespace {

constexpr unsigned kCapacityBits = 16;
constexpr size_t kCapacity = size_t{1} << kCapacityBits;
constexpr size_t kMaxUsed = kCapacity / 4 * 3;
constexpr uint32_t kMaxKeySerial = 1U << 26;
constexpr uint64_t kMaxKeyOffset = uint64_t{1} << 20;
constexpr size_t kFrameCapacity = size_t{1} << 16;

struct FrameKey {
    uint64_t low;   // well mixed: the place in the cache
    uint64_t high;  // the key itself: equality is exact
};

// Code objects are smaller than 2^20 bytes and there are fewer serials than 2^26, or the frame is
// not cached: see intern_frame_slow.
FrameKey key_of(uint32_t serial, int64_t byte_offset, uint32_t instance) {
    const auto offset = static_cast<uint64_t>(byte_offset);
    const uint64_t key = (uint64_t{serial} << 20U | offset) << 18U | instance;
    const uint64_t mixed = key * 0x9E3779B97F4A7C15U;
    return {mixed ^ mixed >> 32, key};
}

}  // namespace

// Not destroyed: code dies and threads capture until the process is gone.
[[PEAKLINE_HOT_DATA]] constinit CodeTable g_code_table;

bool CodeTable::init() {
    void* const memory = mmap(nullptr,
                              kCapacity * sizeof(Entry),
                              PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                              -1,
                              0);
    if (memory == MAP_FAILED) {
        return false;
    }
    frames_ = new (std::nothrow) record::RawStackCache;
    if (frames_ == nullptr || !frames_->init(kFrameCapacity)) {
        return false;
    }
    const record::LockGuard guard(lock_);
    entries_ = static_cast<Entry*>(memory);
    return true;
}

size_t CodeTable::home_of(uint64_t code) {
    return (code >> 4) * 0x9E3779B97F4A7C15U >> (64 - kCapacityBits);
}

CodeTable::Entry* CodeTable::find(uint64_t code) {
    size_t i = home_of(code);
    while (entries_[i].code != 0 && entries_[i].code != code) {
        i = (i + 1) % kCapacity;
    }
    return &entries_[i];
}

// Under lock_. Another thread may have been faster: then `entry` becomes what it stored.
bool CodeTable::insert(Entry& entry) {
    Entry* const place = find(entry.code);
    if (place->code != 0 && place->file != 0) {
        entry = *place;
        return true;
    }
    if (place->code == 0 && used_ == kMaxUsed) {
        overflowed_ = true;
        return false;
    }
    used_ += place->code == 0 ? 1 : 0;
    entry.serial = ++last_serial_;
    *place = entry;
    return true;
}

// Under lock_. Closes the gap, so that no search ends too early.
void CodeTable::remove(Entry* entry) {
    auto gap = static_cast<size_t>(entry - entries_);
    for (size_t i = (gap + 1) % kCapacity; entries_[i].code != 0; i = (i + 1) % kCapacity) {
        const size_t distance_to_home = (i - home_of(entries_[i].code)) % kCapacity;
        if (distance_to_home >= (i - gap) % kCapacity) {
            entries_[gap] = entries_[i];
            gap = i;
        }
    }
    entries_[gap] = Entry{};
    --used_;
}

uint32_t CodeTable::intern_frame_slow(const CodeReader& reader,
                                      const RawFrame& frame,
                                      uint32_t instance,
                                      record::StackTable& table,
                                      char* text) {
    Entry entry{};
    {
        const record::LockGuard guard(lock_);
        entry = *find(frame.code);
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

// The strings are interned without our lock: we call nobody while holding it.
bool CodeTable::name_code_slow(const CodeReader& reader,
                               const RawFrame& frame,
                               record::StackTable& table,
                               char* text,
                               Entry* named) {
    Entry entry = {.code = frame.code, .serial = 0, .file = 0, .name = 0, .qualified_name = 0};
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
        insert(entry);  // when full: serial stays 0, and from now on every death counts
    }
    *named = entry;
    return true;
}

void CodeTable::watch(uint64_t code) {
    Entry entry = {.code = code, .serial = 0, .file = 0, .name = 0, .qualified_name = 0};
    const record::LockGuard guard(lock_);
    insert(entry);
}

void CodeTable::code_died(uint64_t code) {
    const record::LockGuard guard(lock_);
    Entry* const entry = find(code);
    if (entry->code != 0) {
        remove(entry);
    } else if (!overflowed_) {
        return;
    }
    // relaxed: see Note [Code epoch].
    epoch_.fetch_add(1, std::memory_order_relaxed);
}

void CodeTable::forget() {
    const record::LockGuard guard(lock_);
    for (size_t i = 0; i < kCapacity; ++i) {
        entries_[i].file = 0;  // still watched, named anew with a new serial
    }
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
