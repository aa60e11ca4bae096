// Polls, with growing pauses, for data from another process.
#pragma once

#include <algorithm>
#include <cstdint>

#include <unistd.h>

#include "model/memory/world.h"

namespace simgpu {

inline constexpr unsigned kFirstPauseUs = 20;
inline constexpr unsigned kLongestPauseUs = 2000;
inline constexpr int kPollsBetweenLifeSigns = 32;
// torch's default timeout of a collective.
inline constexpr uint64_t kPatienceUs = 600'000'000;

// Polls done() with growing pauses. Calls may_go_on() now and then. Both are called with the
// world's lock held.
template <typename Done, typename MayGoOn>
bool poll(Done done, MayGoOn may_go_on) {
    uint64_t waited_us = 0;
    unsigned pause_us = kFirstPauseUs;
    for (int polls = 1;; ++polls) {
        {
            const auto lock = World::instance().lock();
            if (done()) {
                return true;
            }
            const bool is_patient = waited_us < kPatienceUs;
            if (!is_patient || (polls % kPollsBetweenLifeSigns == 0 && !may_go_on())) {
                // counts an arrival between the two calls
                return done();
            }
        }
        usleep(pause_us);
        waited_us += pause_us;
        pause_us = std::min(pause_us * 2, kLongestPauseUs);
    }
}

}  // namespace simgpu
