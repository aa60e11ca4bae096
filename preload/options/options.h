// All options that reach the recorder through the environment, in one table (options.cpp).
// `peakline run` sets them for its child; users of LD_PRELOAD set them by hand.
#pragma once

#include <cstddef>

namespace peakline::preload {

inline constexpr size_t kPathBytes = 4096;

struct Options {
    // Folder where the process was started, from the preloaded library; else "".
    char start_folder[kPathBytes] = "";
    // PEAKLINE_OUTPUT: name template, %h %p %r %e; "FOLDER/": the default name in it. Absolute
    // where start_folder is known.
    char output[kPathBytes] = "";
    char run_notes[kPathBytes] = "";   // PEAKLINE_RUN_NOTES: a file of `peakline run`, for note()
    char run_id[64] = "";              // PEAKLINE_RUN_ID: 32 hex digits, the same for all ranks
    char backend[32] = "delegate";     // PEAKLINE_BACKEND, see option_words.h
    char stacks[16] = "all";           // PEAKLINE_STACKS, see option_words.h
    char frees[16] = "";               // PEAKLINE_FREES: 1: also the stacks of frees
    char saved[16] = "";               // PEAKLINE_SAVED: 1: also the moments of saving
    char keep[64] = "all";             // PEAKLINE_KEEP, see keep_option.h
    char steps[48] = "";               // PEAKLINE_STEPS: 5..8, see recorded_steps.h of life/
    char cpu[16] = "";                 // PEAKLINE_CPU: 1: also blocks of torch's CPU allocator
    char torch_part[kPathBytes] = "";  // PEAKLINE_TORCH_PART: the library built for this torch
    char cache_dir[3072] = "";         // PEAKLINE_CACHE_DIR
    char file_mode[8] = "";            // PEAKLINE_FILE_MODE: permissions of traces, octal
    char no_command[16] = "";          // PEAKLINE_NO_COMMAND: 1: the trace has no command line
    char simulated[256] = "";          // PEAKLINE_SIMULATED: name of the simulated device
    char assume[kPathBytes] = "";      // PEAKLINE_ASSUME: WHERE=VALUE, one per line or ';' between
    char max_value_reads[24] = "";     // PEAKLINE_MAX_VALUE_READS: 0 is no limit
};

// Whether an option that is on or off is on: neither empty nor 0.
bool is_switched_on(const char* option);

// Reads the environment and the start folder. A value that is too long is ignored, with a line on
// stderr.
void read_options(Options* options);

}  // namespace peakline::preload
