// One rank's side of a communicator. It starts collectives and messages, and finishes them when the
// other ranks have started theirs. Starting does not wait for other ranks (unless one is hundreds
// of collectives ahead), so it delays a program no more than a launch on a real device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "model/base/support.h"
#include "model/ranks/meeting.h"
#include "model/values/operation.h"

namespace simgpu {

struct Stream;

class Communicator {
public:
    // meeting: null when the ranks cannot reach each other; then nothing is delivered.
    Communicator(std::unique_ptr<Meeting> meeting, int rank_count);
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    bool is_alone() const;

    // Call the functions below without the world's lock.
    // Returns false when a rank did not join.
    bool wait_for_all_to_join();
    void start(const peakline_sim_collective& collective, Stream* stream);
    void send(int to_rank, const void* from, size_t bytes);
    void receive(int from_rank, void* to, size_t bytes, Stream* stream);
    // Gathers host bytes of every rank, in order of rank. Returns false when a rank is gone.
    bool gather_on_host(const void* from, size_t bytes, void* to);

    // For all communicators of this process; the caller holds the lock. See waiting.h.
    static void finish_what_can_be();
    // Whether one of these operations waits for a rank that is gone.
    static bool is_anybody_gone(const Operations& operations);
    static void give_up_on(const Operations& operations);

private:
    // The caller holds the lock.
    bool waits_for_one_of(const Operations& operations) const;
    void finish_ready();
    bool is_ready(const Operation& operation) const;
    void finish(Operation* operation);
    void deliver(const Delivery& delivery, const Operation& operation);
    void give_up();
    void put(Slot* slot, uintptr_t from, size_t bytes) const;
    void begin(std::shared_ptr<Operation> operation, Stream* stream);

    // Waits until `condition` holds. Returns false if the communicator broke meanwhile.
    template <typename Condition>
    bool wait_until(Condition condition);

    std::unique_ptr<Meeting> meeting_;
    std::deque<std::shared_ptr<Operation>> unfinished_;
    uint64_t collective_count_ = 0;
    std::vector<uint64_t> sent_counts_;      // by receiver
    std::vector<uint64_t> received_counts_;  // by sender
};

}  // namespace simgpu
