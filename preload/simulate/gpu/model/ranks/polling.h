// Asks again and again, with growing pauses, whether something has come from another process.
#pragma once

#include <algorithm>
#include <cstdint>

#include <unistd.h>

#include "model/memory/world.h"

namespace simgpu {

inline constexpr unsigned kFirstPauseUs = 20;
inline constexpr unsigned kLongestPauseUs = 2000;
inline constexpr int kPollsBetweenLifeSigns = 32;
// As long as torch waits for a collective by default.
inline constexpr uint64_t kPatienceUs = 600'000'000;

// Polls done() with growing pauses. done() is called with the world's lock; may_go_on() is asked
// now and then, also with it.
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
                // What came between the two questions counts.
                return done();
            }
        }
        usleep(pause_us);
        waited_us += pause_us;
        pause_us = std::min(pause_us * 2, kLongestPauseUs);
    }
}

}  // namespace simgpu
