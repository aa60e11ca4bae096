// Communicators of the simulated NCCL. model/ranks/communicator.h connects the ranks.
#pragma once

#include <nccl.h>

#include "model/base/support.h"

struct Communicator {
    unsigned char library_part[64];  // belongs to peakline_sim_new_handle
    void* ranks;                     // of peakline_sim_join
    void* own_memory;
    int rank;
    int rank_count;
    int device;
};

inline Communicator* to_communicator(ncclComm_t handle) {
    return reinterpret_cast<Communicator*>(handle);
}

// Calls may be in nested groups. They take effect at once. Only ranks of one thread that join in a
// group must not wait for each other.
extern thread_local int g_group_depth;
