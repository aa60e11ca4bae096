// The name of a process's trace file. Placeholders of a template: %e script, %h host, %p process
// id, %r rank (or process id without one), %l local rank, %a attempt, %i run. Without a template a
// process of its own is peakline-%e.%h.%p.peak; ranks of a run share a folder, so that those of
// another run stand elsewhere: peakline-%e.%i/rank%r.%h.peak.
#pragma once

#include <cstddef>

#include "job_place.h"

namespace peakline::preload {

struct ProcessNames {
    char script[128];  // file name of the program without .py, "python" for -c and stdin
    char host[128];
    JobPlace place;
    char run[48];        // what names of files call the run: of its job, or of the run id; else ""
    char command[2048];  // the command line, words separated by spaces
    char executable[512];
};

// `run_id`: of `peakline run`, or "".
void read_process_names(ProcessNames* names, const char* run_id);

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
