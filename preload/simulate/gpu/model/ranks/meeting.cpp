// The layout of the shared memory and its counters. Every counter has one writer. A reader that
// sees a raised counter also sees the slot, thanks to release and acquire.
//
//   0             number of the meeting
//   4096          one Member per rank
//   ...           one Mailbox per pair of ranks
//   ...           kBoardSlots slots per rank
//   ...           kMailSlots slots per pair of ranks

// Note [A rank alone]
// One process may be one rank of a job without the other ranks. Its meeting has room for one rank.
// All contributions to a collective equal this rank's; messages it sends are dropped, and messages
// it receives are empty. Nothing waits.

#include "model/ranks/meeting.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <random>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace simgpu {
namespace {

constexpr size_t kBoardSlots = 256;
constexpr size_t kMailSlots = 64;
constexpr size_t kPageBytes = 4096;

size_t to_size(int rank) {
    return static_cast<size_t>(rank);
}

}  // namespace

struct Meeting::Member {
    std::atomic<int> process;  // 0: has not joined
    std::atomic<int> has_left;
    std::atomic<uint64_t> posted_count;
    std::atomic<uint64_t> read_count;
};

struct Meeting::Mailbox {
    std::atomic<uint64_t> sent_count;
    std::atomic<uint64_t> received_count;
};

struct Meeting::Layout {
    size_t members = kPageBytes;
    size_t mailboxes;
    size_t boards;
    size_t mail;
    size_t bytes;

    explicit Layout(int rank_count) {
        const size_t ranks = to_size(rank_count);
        mailboxes = members + round_up_to_page(ranks * sizeof(Member));
        boards = mailboxes + round_up_to_page(ranks * ranks * sizeof(Mailbox));
        mail = boards + ranks * kBoardSlots * slot_bytes();
        bytes = mail + ranks * ranks * kMailSlots * slot_bytes();
    }
    static size_t round_up_to_page(size_t bytes) {
        return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    }
    static size_t slot_bytes() { return round_up_to_page(sizeof(Slot)); }
};

MeetingId create_meeting() {
    MeetingId id;
    id.process = getpid();
    id.file = memfd_create("peakline-simgpu", MFD_CLOEXEC);
    std::random_device device;
    id.number = (uint64_t{device()} << 32) | device();
    if (id.file >= 0 && pwrite(id.file, &id.number, sizeof id.number, 0) != sizeof id.number) {
        close(id.file);
        id.file = -1;
    }
    return id;
}

std::unique_ptr<Meeting> Meeting::open(const MeetingId& id, int rank, int rank_count) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", id.process, id.file);
    const int file = ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        return nullptr;
    }
    const size_t bytes = Layout(rank_count).bytes;
    uint64_t number = 0;
    void* memory = MAP_FAILED;
    if (pread(file, &number, sizeof number, 0) == sizeof number && number == id.number &&
        ftruncate(file, static_cast<off_t>(bytes)) == 0) {
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    }
    close(file);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    return std::unique_ptr<Meeting>(new Meeting(memory, bytes, rank, {rank_count, rank_count}));
}

std::unique_ptr<Meeting> Meeting::alone(int rank, int rank_count) {
    const size_t bytes = Layout(1).bytes;
    void* const memory = mmap(
        nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    return std::unique_ptr<Meeting>(new Meeting(memory, bytes, rank, {rank_count, 1}));
}

Meeting::Meeting(void* memory, size_t bytes, int rank, Size size)
    : memory_(static_cast<unsigned char*>(memory)),
      bytes_(bytes),
      rank_(rank),
      rank_count_(size.rank_count),
      present_count_(size.present_count) {
    member(rank).process.store(getpid(), std::memory_order_release);
}

Meeting::~Meeting() {
    munmap(memory_, bytes_);
}

size_t Meeting::slot_of_rank(int rank) const {
    return is_alone() ? 0 : to_size(rank);
}

Meeting::Member& Meeting::member(int rank) const {
    return reinterpret_cast<Member*>(memory_ + Layout(present_count_).members)[slot_of_rank(rank)];
}

Meeting::Mailbox& Meeting::mailbox(int from_rank, int to_rank) const {
    auto* const first = reinterpret_cast<Mailbox*>(memory_ + Layout(present_count_).mailboxes);
    return first[slot_of_rank(from_rank) * to_size(present_count_) + slot_of_rank(to_rank)];
}

bool Meeting::have_all_joined() const {
    for (int rank = 0; rank < rank_count_; ++rank) {
        if (member(rank).process.load(std::memory_order_acquire) == 0) {
            return false;
        }
    }
    return true;
}

bool Meeting::is_anybody_gone() const {
    for (int rank = 0; rank < rank_count_; ++rank) {
        const int process = member(rank).process.load(std::memory_order_acquire);
        const bool has_left = member(rank).has_left.load(std::memory_order_acquire) != 0;
        if (has_left || (process != 0 && kill(process, 0) != 0 && errno == ESRCH)) {
            return true;
        }
    }
    return false;
}

void Meeting::leave() {
    member(rank_).has_left.store(1, std::memory_order_release);
}

bool Meeting::has_room_to_post(uint64_t number) const {
    for (int rank = 0; rank < rank_count_; ++rank) {
        if (member(rank).read_count.load(std::memory_order_acquire) + kBoardSlots <= number) {
            return false;
        }
    }
    return true;
}

Slot& Meeting::own_slot(uint64_t number) {
    return const_cast<Slot&>(posted_slot(rank_, number));
}

const Slot& Meeting::posted_slot(int rank, uint64_t number) const {
    const size_t index = slot_of_rank(rank) * kBoardSlots + number % kBoardSlots;
    return *reinterpret_cast<const Slot*>(memory_ + Layout(present_count_).boards +
                                          index * Layout::slot_bytes());
}

void Meeting::post(uint64_t number) {
    member(rank_).posted_count.store(number + 1, std::memory_order_release);
}

bool Meeting::have_all_posted(uint64_t number) const {
    for (int rank = 0; rank < rank_count_; ++rank) {
        if (member(rank).posted_count.load(std::memory_order_acquire) <= number) {
            return false;
        }
    }
    return true;
}

void Meeting::note_read(uint64_t number) {
    member(rank_).read_count.store(number + 1, std::memory_order_release);
}

bool Meeting::has_room_to_send(int to_rank, uint64_t number) const {
    return is_alone() ||
           mailbox(rank_, to_rank).received_count.load(std::memory_order_acquire) + kMailSlots >
               number;
}

Slot& Meeting::mail_slot(int from_rank, int to_rank, uint64_t number) const {
    const Layout layout(present_count_);
    if (is_alone()) {
        // Sent messages go to the first slot. Received ones come from the second, which is never
        // filled.
        const size_t index = from_rank == rank_ ? 0 : 1;
        return *reinterpret_cast<Slot*>(memory_ + layout.mail + index * Layout::slot_bytes());
    }
    const size_t pair = to_size(from_rank) * to_size(rank_count_) + to_size(to_rank);
    return *reinterpret_cast<Slot*>(
        memory_ + layout.mail + (pair * kMailSlots + number % kMailSlots) * Layout::slot_bytes());
}

void Meeting::send(int to_rank, uint64_t number) {
    mailbox(rank_, to_rank).sent_count.store(number + 1, std::memory_order_release);
}

bool Meeting::has_arrived(int from_rank, uint64_t number) const {
    return is_alone() ||
           mailbox(from_rank, rank_).sent_count.load(std::memory_order_acquire) > number;
}

void Meeting::note_received(int from_rank, uint64_t number) {
    mailbox(from_rank, rank_).received_count.store(number + 1, std::memory_order_release);
}

}  // namespace simgpu
