#include "file_states.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <pthread.h>
#include <sched.h>

#include "allocator/record/files/own_descriptors.h"
#include "allocator/record/files/small_files.h"
#include "kernel.h"

namespace peakline::guard {
namespace {

constexpr char kFact = 'F';
constexpr char kMove = 'R';

struct Entry {
    uint64_t hash;
    char* path;
    char state;  // of FileState, or kFact
};

// Guarded by g_lock. Grows only.
Entry* g_entries = nullptr;
size_t g_entry_count = 0;
uint32_t* g_slots = nullptr;  // a hash table: the number of an entry, from 1 on
size_t g_slot_count = 0;      // a power of two
off_t g_read_bytes = 0;       // bytes of the notes read so far
size_t g_redirection_count = 0;

std::atomic_flag g_lock = ATOMIC_FLAG_INIT;

void lock() {
    while (g_lock.test_and_set(std::memory_order_acquire)) {
        sched_yield();
    }
}

void unlock() {
    g_lock.clear(std::memory_order_release);
}

// A forked child must not inherit the lock from a thread that it does not have.
__attribute__((constructor)) void prepare_for_fork() {
    pthread_atfork(lock, unlock, unlock);
}

struct Locked {
    Locked() { lock(); }
    ~Locked() { unlock(); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
};

const char* notes_path() {
    const char* const path = getenv("PEAKLINE_SIM_WRITES");
    return path != nullptr && path[0] != '\0' ? path : nullptr;
}

uint64_t hash_of(const char* text) {
    uint64_t hash = 14695981039346656037U;  // FNV-1a
    for (; *text != '\0'; ++text) {
        hash = (hash ^ static_cast<unsigned char>(*text)) * 1099511628211U;
    }
    return hash;
}

bool is_redirection(char state) {
    return state == 'P' || state == 'C' || state == 'X';
}

// The slot of this path in g_slots, or the free slot for it. There is always a free slot.
uint32_t* slot_of(const char* path, uint64_t hash) {
    for (size_t i = hash & (g_slot_count - 1);; i = (i + 1) & (g_slot_count - 1)) {
        const uint32_t number = g_slots[i];
        if (number == 0 ||
            (g_entries[number - 1].hash == hash && strcmp(g_entries[number - 1].path, path) == 0)) {
            return &g_slots[i];
        }
    }
}

Entry* find(const char* path) {
    if (g_slot_count == 0) {
        return nullptr;
    }
    const uint32_t number = *slot_of(path, hash_of(path));
    return number == 0 ? nullptr : &g_entries[number - 1];
}

// Makes room for one more entry, with half of the slots free.
bool grow() {
    if (2 * g_entry_count < g_slot_count) {
        return true;
    }
    const size_t slot_count = g_slot_count == 0 ? 256 : 2 * g_slot_count;
    void* const entries = realloc(g_entries, slot_count / 2 * sizeof(Entry));
    if (entries != nullptr) {
        g_entries = static_cast<Entry*>(entries);
    }
    auto* const slots = static_cast<uint32_t*>(calloc(slot_count, sizeof(uint32_t)));
    if (entries == nullptr || slots == nullptr) {
        free(slots);
        return false;
    }
    free(g_slots);
    g_slots = slots;
    g_slot_count = slot_count;
    for (size_t i = 0; i < g_entry_count; ++i) {
        *slot_of(g_entries[i].path, g_entries[i].hash) = static_cast<uint32_t>(i + 1);
    }
    return true;
}

Entry* make_entry(const char* path) {
    char* const copy = grow() ? strdup(path) : nullptr;
    if (copy == nullptr) {
        return nullptr;
    }
    const uint64_t hash = hash_of(path);
    g_entries[g_entry_count] = {hash, copy, '-'};
    *slot_of(path, hash) = static_cast<uint32_t>(++g_entry_count);
    return &g_entries[g_entry_count - 1];
}

void put(const char* path, char state) {
    Entry* const known = find(path);
    Entry* const entry = known != nullptr ? known : make_entry(path);
    if (entry == nullptr) {
        return;
    }
    g_redirection_count -= is_redirection(entry->state) ? 1 : 0;
    g_redirection_count += is_redirection(state) ? 1 : 0;
    entry->state = state;
}

bool is_within(const char* path, const char* folder) {
    const size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

void move_all(const char* from, const char* to) {
    char path[2 * PATH_MAX];
    const size_t count = g_entry_count;
    put(to, '-');
    for (size_t i = 0; i < count; ++i) {
        const char state = g_entries[i].state;
        if (state == '-' || state == kFact || !is_within(g_entries[i].path, from)) {
            continue;
        }
        snprintf(path, sizeof path, "%s%s", to, g_entries[i].path + strlen(from));
        put(g_entries[i].path, '-');
        put(path, state);
    }
}

// Returns the address behind the zero that ends a text, or null if `end` comes first.
const char* behind(const char* text, const char* end) {
    const size_t room = text < end ? static_cast<size_t>(end - text) : 0;
    const size_t length = strnlen(text, room);
    return length < room ? text + length + 1 : nullptr;
}

// Takes the whole records of a text, and returns their bytes. A record that another process appends
// meanwhile may be there in part: the kernel writes page by page.
size_t take_records(const char* text, size_t bytes) {
    const char* const end = text + bytes;
    const char* record = text;
    while (record < end) {
        const char* const path = record + 1;
        const char* next = behind(path, end);
        if (next == nullptr) {
            break;
        }
        if (*record != kMove) {
            put(path, *record);
        } else {
            const char* const to = next;
            next = behind(to, end);
            if (next == nullptr) {
                break;
            }
            move_all(path, to);
        }
        record = next;
    }
    return static_cast<size_t>(record - text);
}

// Reads the records that processes of the run have appended, up to this offset.
void read_news(off_t end) {
    struct stat status {};
    const char* const notes = notes_path();
    if (notes == nullptr || !kernel::stat(notes, &status)) {
        return;
    }
    end = std::min(end, status.st_size);
    if (end <= g_read_bytes) {
        return;
    }
    const auto bytes = static_cast<size_t>(end - g_read_bytes);
    auto* const text = static_cast<char*>(malloc(bytes + 1));
    bool is_read = false;
    record::with_own_descriptors([&] {
        const int file = kernel::open(notes, O_RDONLY);
        is_read = text != nullptr && file >= 0 &&
                  pread(file, text, bytes, g_read_bytes) == static_cast<ssize_t>(bytes);
        close(file);
    });
    if (is_read) {
        text[bytes] = '\0';
        g_read_bytes += static_cast<off_t>(take_records(text, bytes));
    }
    free(text);
}

void read_news() {
    read_news(std::numeric_limits<off_t>::max());
}

// Appends a record and returns its offset; -1 on failure. Other processes append too.
off_t append(const char* record, size_t bytes) {
    bool is_written = false;
    off_t end = 0;
    record::with_own_descriptors([&] {
        const int file = kernel::open(notes_path(), O_WRONLY | O_APPEND | O_CREAT, 0600);
        is_written = file >= 0 && write(file, record, bytes) == static_cast<ssize_t>(bytes);
        end = is_written ? lseek(file, 0, SEEK_CUR) : 0;
        close(file);
    });
    if (!is_written) {
        constexpr char kText[] =
            "peakline: cannot note which files are written (is the folder for temporary files "
            "full?): check the checkpoints of this simulated run by hand\n";
        static bool is_reported = false;
        is_reported = is_reported || record::write_standard_error_slow(
                                         record::first_standard_error(), kText, sizeof kText - 1);
    }
    return is_written ? end - static_cast<off_t>(bytes) : -1;
}

off_t append_record(char kind, const char* path) {
    char record[PATH_MAX + 2];
    const int length = snprintf(record, sizeof record, "%c%s", kind, path);
    if (length <= 0 || static_cast<size_t>(length) >= sizeof record) {
        return -1;
    }
    return append(record, static_cast<size_t>(length) + 1);
}

}  // namespace

bool has_notes() {
    return notes_path() != nullptr;
}

FileState state_of(const char* path) {
    const Locked locked;
    read_news();
    const Entry* const entry = find(path);
    return entry != nullptr && entry->state != kFact ? static_cast<FileState>(entry->state)
                                                     : FileState::kNone;
}

void set_state(const char* path, FileState state) {
    const Locked locked;
    append_record(static_cast<char>(state), path);
    read_news();
}

void move_states(const char* from, const char* to) {
    const Locked locked;
    char record[2 * PATH_MAX + 3];
    const int length = snprintf(record, sizeof record, "%c%s%c%s", kMove, from, '\0', to);
    if (length > 0 && static_cast<size_t>(length) < sizeof record) {
        append(record, static_cast<size_t>(length) + 1);
        read_news();
    }
}

bool has_redirections() {
    const Locked locked;
    read_news();
    return g_redirection_count > 0;
}

bool has_fact(const char* fact) {
    const Locked locked;
    read_news();
    const Entry* const entry = find(fact);
    return entry != nullptr && entry->state == kFact;
}

bool note_fact(const char* fact) {
    const Locked locked;
    read_news();
    if (find(fact) != nullptr) {
        return false;
    }
    const off_t begin = append_record(kFact, fact);
    read_news(begin);  // if two processes note a fact at once, the first record counts
    const bool is_first = find(fact) == nullptr;
    read_news();
    return is_first;
}

}  // namespace peakline::guard
