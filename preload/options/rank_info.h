// Identifies this process within its job, from variables that launchers set: torchrun and tools
// built on it, SLURM, Open MPI, MPICH, Ray. Fields without a variable are "".
#pragma once

namespace peakline::preload {

struct RankInfo {
    char rank[32];
    char local_rank[32];  // among the processes of its machine
    char world_size[32];
    char local_world_size[32];  // of its machine
    char attempt[32];           // number of restarts of the job by the launcher
    char job[128];  // "torchrun NAME", "slurm JOB.STEP": the same on all machines of the job
};

void read_rank_info(RankInfo* info);

}  // namespace peakline::preload
