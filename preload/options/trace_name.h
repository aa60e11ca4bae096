// The name of a process's trace file. Placeholders of a template: %e script, %h host, %p process
// id, %r rank (or process id without one), %l local rank, %a attempt, %i run. Without a template a
// process of its own is peakline-%e.%h.%p.peak; ranks of a run share a folder, so that those of
// another run stand elsewhere: peakline-%e.%i/rank%r.%h.peak.
#pragma once

#include <cstddef>

#include <sys/types.h>

#include "rank_info.h"

namespace peakline::preload {

struct ProcessNames {
    char script[128];  // see write_program_name
    char host[128];
    RankInfo rank_info;
    char run[48];        // what names of files call the run: of its job, or of the run id; else ""
    char command[2048];  // the command line, see write_masked
    char executable[512];
};

// `run_id`: of `peakline run`, or "".
void read_process_names(ProcessNames* names, const char* run_id);

// Puts the folder before a relative template, and before the default. A name that does not fit
// stays as it is, and so does every name where `folder` is "".
void make_template_absolute(const char* folder, char* name_template, size_t room);

// Fills `path`. An empty template means the default, one that ends with a slash or names a folder
// the default in it. A value has no slash: RANK=../x leads nowhere. False when it does not fit.
bool expand_trace_name(const char* name_template,
                       const ProcessNames& names,
                       char* path,
                       size_t room);

// Puts ".<number>" before the extension: run.peak, run.2.peak. False when it does not fit.
bool numbered_name(const char* path, unsigned number, char* numbered, size_t room);

// Whether there is something at `path` that is neither a regular file nor a folder: /dev/null.
bool is_device_file(const char* path);

// Understands "640" and "0644": permissions of a trace, which its owner may always read and write.
// False: not understood; `mode` stays as it is.
bool parse_file_mode(const char* text, mode_t* mode);

// Makes the folders above `path` that do not exist. Returns 0 or an errno.
int make_parent_folders(const char* path);

}  // namespace peakline::preload
