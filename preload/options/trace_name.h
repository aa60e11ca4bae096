// The name of a process's trace file. Default peakline-<script>.<host>.<rank or pid>.peak;
// placeholders of a template: %e script, %h host, %p process id, %r rank (or p<pid> without one).
#pragma once

#include <cstddef>

namespace peakline::preload {

struct ProcessNames {
    char script[128];  // file name of the program without .py, "python" for -c and stdin
    char host[128];
    char rank[32];       // of RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK or PMI_RANK; else ""
    char command[2048];  // the command line, words separated by spaces
    char executable[512];
};

void read_process_names(ProcessNames* names);

// Fills `path`. An empty template means the default. False when it does not fit.
bool expand_trace_name(const char* name_template,
                       const ProcessNames& names,
                       char* path,
                       size_t room);

// Puts ".<number>" before the extension: run.peak, run.2.peak. False when it does not fit.
bool numbered_name(const char* path, unsigned number, char* numbered, size_t room);

// Makes the folders above `path` that do not exist. Returns 0 or an errno.
int make_parent_folders(const char* path);

}  // namespace peakline::preload
