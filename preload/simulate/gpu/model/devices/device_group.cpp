#include "model/devices/device_group.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/base/log.h"
#include "model/devices/profiles.h"

namespace simgpu {
namespace {

constexpr int kSlotCount = 1024;
constexpr int kSpinsBetweenLifeSigns = 1000;
constexpr int kMostSpins = 1'000'000;  // then a stopped process holds the lock: go on without it

// "S" of a sleeping process, "Z" of one that has ended; '\0': there is no such process.
struct ProcessState {
    char letter = '\0';
    uint64_t start_time = 0;
};

// Not by libc's open(): the guard of checkpoints replaces it and asks this library about its
// memory, which would wait for the world's lock that is held here.
int open_directly(const char* path, int flags) {
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600));
}

// Fields 3 and 22 of /proc/PID/stat; the name before them may contain anything but ends with ")".
ProcessState state_of(int pid) {
    char path[32];
    std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int file = open_directly(path, O_RDONLY);
    char text[1024];
    const ssize_t size = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0) {
        close(file);
    }
    if (size <= 0) {
        return {};
    }
    text[size] = '\0';
    const char* at = std::strrchr(text, ')');
    ProcessState state;
    if (at == nullptr || at[1] != ' ') {
        return {};
    }
    state.letter = at[2];
    at += 2;
    constexpr int kStartTime = 22;
    for (int field = 3; field < kStartTime && at != nullptr; ++field) {
        at = std::strchr(at + 1, ' ');
    }
    state.start_time = at != nullptr ? std::strtoull(at, nullptr, 10) : 0;
    return state;
}

bool is_alive(int pid, uint64_t start_time) {
    const ProcessState state = state_of(pid);
    return state.letter != '\0' && state.letter != 'Z' && state.letter != 'X' &&
           state.start_time == start_time;
}

}  // namespace

struct DeviceGroup::Slot {
    std::atomic<int> pid;  // 0: free
    std::atomic<uint64_t> start_time;
    std::atomic<uint64_t> bytes[kMaxDevices];
};

struct DeviceGroup::File {
    std::atomic<int> holder;  // of the lock; 0: nobody
    std::atomic<int> used_slots;
    Slot slots[kSlotCount];
};

namespace {

// See Note [Processes that share a device].
class GroupLock {
public:
    GroupLock(std::atomic<int>& holder, int pid) : holder_(holder), pid_(pid) {
        for (int spins = 1; spins < kMostSpins; ++spins) {
            int found = 0;
            if (holder_.compare_exchange_weak(found, pid_, std::memory_order_acquire)) {
                return;
            }
            if (spins % kSpinsBetweenLifeSigns == 0 && found != 0 &&
                state_of(found).letter == '\0') {
                holder_.compare_exchange_strong(found, 0);
            }
            sched_yield();
        }
    }
    ~GroupLock() {
        int own = pid_;
        holder_.compare_exchange_strong(own, 0, std::memory_order_release);
    }
    GroupLock(const GroupLock&) = delete;
    GroupLock& operator=(const GroupLock&) = delete;

private:
    std::atomic<int>& holder_;
    const int pid_;
};

void* map_file(const char* path, size_t bytes) {
    const int file = open_directly(path, O_RDWR | O_CREAT);
    // A longer file of the same bytes is all zeros: no slot is taken.
    const bool has_room = file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0;
    void* const memory =
        has_room ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) {
        log_message(
            0, "cannot share the devices with other processes: %s: %s", path, std::strerror(errno));
    }
    if (file >= 0) {
        close(file);
    }
    return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

DeviceGroup& DeviceGroup::instance() {
    static auto* const group = new DeviceGroup;
    return *group;
}

DeviceGroup::DeviceGroup() {
    const char* const path = std::getenv("PEAKLINE_SIM_GROUP");
    if (path != nullptr && *path != '\0') {
        file_ = static_cast<File*>(map_file(path, sizeof(File)));
    }
}

DeviceGroup::Slot* DeviceGroup::take_slot(int pid, uint64_t start_time) {
    const GroupLock lock(file_->holder, pid);
    Slot* free = nullptr;
    const int used = file_->used_slots;
    for (int i = 0; i < used && free == nullptr; ++i) {
        Slot& slot = file_->slots[i];
        // This process has a slot already when it replaced its program by another (exec).
        const bool is_own = slot.pid == pid && slot.start_time == start_time;
        free = is_own || slot.pid == 0 || !is_alive(slot.pid, slot.start_time) ? &slot : nullptr;
    }
    if (free == nullptr && used < kSlotCount) {
        free = &file_->slots[used];
        file_->used_slots = used + 1;
    }
    if (free == nullptr) {
        log_message(0, "more than %d processes share the devices: this one does not", kSlotCount);
        return nullptr;
    }
    for (std::atomic<uint64_t>& bytes : free->bytes) {
        bytes = 0;
    }
    free->start_time = start_time;
    free->pid = pid;
    return free;
}

DeviceGroup::Slot* DeviceGroup::own_slot() {
    const int pid = file_ != nullptr ? getpid() : 0;
    if (pid != own_pid_) {
        own_pid_ = pid;
        own_ = take_slot(pid, state_of(pid).start_time);
    }
    return own_;
}

bool DeviceGroup::take(int device, size_t bytes, size_t limit_bytes) {
    Slot* const own = own_slot();
    if (own == nullptr) {
        return true;
    }
    const auto at = static_cast<size_t>(device);
    const GroupLock lock(file_->holder, own_pid_);
    uint64_t with_ended = bytes;
    for (int i = 0; i < file_->used_slots; ++i) {
        with_ended += file_->slots[i].bytes[at];
    }
    if (with_ended > limit_bytes && own->bytes[at] + bytes + others_bytes(device) > limit_bytes) {
        return false;
    }
    own->bytes[at] += bytes;
    return true;
}

void DeviceGroup::give(int device, size_t bytes) {
    if (Slot* const own = own_slot()) {
        own->bytes[static_cast<size_t>(device)] -= bytes;
    }
}

std::vector<ProcessUse> DeviceGroup::others(int device) {
    std::vector<ProcessUse> found;
    const Slot* const own = own_slot();
    const int used = own != nullptr ? file_->used_slots.load() : 0;
    for (int i = 0; i < used; ++i) {
        const Slot& slot = file_->slots[i];
        const uint64_t bytes = slot.bytes[static_cast<size_t>(device)];
        if (&slot != own && bytes != 0 && is_alive(slot.pid, slot.start_time)) {
            found.push_back({slot.pid, bytes});
        }
    }
    return found;
}

size_t DeviceGroup::others_bytes(int device) {
    size_t bytes = 0;
    for (const ProcessUse& other : others(device)) {
        bytes += other.bytes;
    }
    return bytes;
}

}  // namespace simgpu
