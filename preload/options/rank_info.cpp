#include "rank_info.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace peakline::preload {
namespace {

using Names = std::initializer_list<const char*>;

const char* value_of(const char* name) {
    const char* const value = getenv(name);
    return value != nullptr ? value : "";
}

// Nested launchers each set variables. Names are ordered so that the innermost launcher's come
// first.
void copy_first(Names names, char* text, size_t room) {
    text[0] = '\0';
    for (const char* const name : names) {
        if (value_of(name)[0] != '\0') {
            snprintf(text, room, "%s", value_of(name));
            return;
        }
    }
}

bool write_job(char* text, size_t room, const char* launcher, const char* id) {
    if (id[0] == '\0') {
        return false;
    }
    snprintf(text, room, "%s %s", launcher, id);
    return true;
}

void read_job(char* text, size_t room) {
    text[0] = '\0';
    const char* const elastic = value_of("TORCHELASTIC_RUN_ID");
    // torchrun sets "none" when it was given no name.
    if (strcmp(elastic, "none") != 0 && write_job(text, room, "torchrun", elastic)) {
        return;
    }
    const char* const step = value_of("SLURM_STEP_ID");
    if (step[0] != '\0' && write_job(text, room, "slurm", value_of("SLURM_JOB_ID"))) {
        const size_t length = strlen(text);
        snprintf(text + length, room - length, ".%s", step);
        return;
    }
    // A Ray job is a whole program, which may run several trainings one after another.
    write_job(text, room, "mpi", value_of("PMIX_NAMESPACE")) ||
        write_job(text, room, "mpi", value_of("OMPI_MCA_ess_base_jobid")) ||
        write_job(text, room, "ray", value_of("RAY_JOB_ID"));
}

}  // namespace

void read_rank_info(RankInfo* info) {
    copy_first({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"},
               info->rank,
               sizeof info->rank);
    copy_first({"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"},
               info->local_rank,
               sizeof info->local_rank);
    copy_first(
        {"WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"},
        info->world_size,
        sizeof info->world_size);
    copy_first({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"},
               info->local_world_size,
               sizeof info->local_world_size);
    copy_first(
        {"TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"}, info->attempt, sizeof info->attempt);
    read_job(info->job, sizeof info->job);
}

}  // namespace peakline::preload
