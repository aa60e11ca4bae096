// Which process of a job this one is, as its launcher says in the environment: torchrun and what is
// built on it, SLURM, Open MPI, MPICH, Ray. What a launcher does not say is "".
#pragma once

namespace peakline::preload {

struct RankInfo {
    char rank[32];
    char local_rank[32];  // among the processes of its machine
    char world_size[32];
    char local_world_size[32];  // of its machine
    char attempt[32];  // how often the launcher has started the job anew; "0" the first time
    char job[128];     // "torchrun NAME", "slurm JOB.STEP": the same on all machines of the job
};

void read_rank_info(RankInfo* info);

}  // namespace peakline::preload
