// The shared memory between the ranks of one communicator, in one process or several on one
// machine. A board per rank holds its contributions to collectives; a mailbox per pair of ranks
// holds messages. Both are rings. The memory is an unnamed file, which other ranks open through the
// process that made it, so a crash leaves nothing behind. Calls do not block. Within a process the
// world's lock guards them; between processes the counters do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/values/contents.h"

namespace simgpu {

// Part of the unique id of a communicator, which processes pass on.
struct MeetingId {
    int32_t process = 0;
    int32_t file = 0;
    uint64_t number = 0;
};

// Creates the memory; the first rank that joins sets its size.
MeetingId create_meeting();

struct Slot {
    uint32_t is_known;
    unsigned char bytes[kMaxKnownBytes];
};

class Meeting {
public:
    // Null when the memory cannot be reached.
    static std::unique_ptr<Meeting> open(const MeetingId& id, int rank, int rank_count);
    // One rank of a large job, see Note [A rank alone]. Null when out of memory.
    static std::unique_ptr<Meeting> alone(int rank, int rank_count);
    ~Meeting();
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;

    int rank() const { return rank_; }
    int rank_count() const { return rank_count_; }
    bool is_alone() const { return present_count_ < rank_count_; }
    bool have_all_joined() const;
    // Whether a rank ended or left, so that its missing posts will never come.
    bool is_anybody_gone() const;
    void leave();

    // The board: `number` counts the collectives of this communicator.
    bool has_room_to_post(uint64_t number) const;
    Slot& own_slot(uint64_t number);
    void post(uint64_t number);
    bool have_all_posted(uint64_t number) const;
    const Slot& posted_slot(int rank, uint64_t number) const;
    void note_read(uint64_t number);

    // The mailboxes: `number` counts the messages from one rank to another.
    bool has_room_to_send(int to_rank, uint64_t number) const;
    Slot& mail_slot(int from_rank, int to_rank, uint64_t number) const;
    void send(int to_rank, uint64_t number);
    bool has_arrived(int from_rank, uint64_t number) const;
    void note_received(int from_rank, uint64_t number);

private:
    struct Layout;
    struct Member;
    struct Mailbox;
    struct Size {
        int rank_count;
        int present_count;
    };
    Meeting(void* memory, size_t bytes, int rank, Size size);
    // Index of a rank's part of the memory.
    size_t slot_of_rank(int rank) const;
    Member& member(int rank) const;
    Mailbox& mailbox(int from_rank, int to_rank) const;

    unsigned char* const memory_;
    const size_t bytes_;
    const int rank_;
    const int rank_count_;
    const int present_count_;
};

}  // namespace simgpu
