// The name of a process's trace file. Placeholders of a template: %e script, %h host, %p process
// id, %r rank (or process id without one), %l local rank, %a attempt, %i run. Without a template a
// single process writes peakline-%e.%h.%p.peak. Ranks share a folder per run:
// peakline-%e.%i/rank%r.%h.peak.
#pragma once

#include <cstddef>

#include <sys/types.h>

#include "rank_info.h"

namespace peakline::preload {

struct ProcessNames {
    char script[128];  // see write_program_name
    char host[128];
    RankInfo rank_info;
    char run[48];        // run name in file names: from the job, or from the run id; else ""
    char command[2048];  // the command line, see write_masked
    char executable[512];
};

// `run_id`: from `peakline run`, or "".
void read_process_names(ProcessNames* names, const char* run_id);

// Puts the folder before a relative template, and before the default. The template stays unchanged
// if the result does not fit or `folder` is "".
void make_template_absolute(const char* folder, char* name_template, size_t room);

// Fills `path`. An empty template means the default name; a template that ends with a slash or
// names a folder means the default name inside it. Slashes in values are replaced, so RANK=../x
// stays in its folder. Returns false if the path does not fit.
bool expand_trace_name(const char* name_template,
                       const ProcessNames& names,
                       char* path,
                       size_t room);

// Puts ".<number>" before the extension: run.peak, run.2.peak. False when it does not fit.
bool numbered_name(const char* path, unsigned number, char* numbered, size_t room);

// Whether `path` exists and is neither a regular file nor a folder: /dev/null.
bool is_device_file(const char* path);

// Parses "640" and "0644": permissions of a trace. Its owner may always read and write it. Returns
// false, with `mode` unchanged, if the text does not parse.
bool parse_file_mode(const char* text, mode_t* mode);

// Creates the missing folders above `path`. Returns 0 or an errno.
int make_parent_folders(const char* path);

}  // namespace peakline::preload
