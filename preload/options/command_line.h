// The words that a process was started with, and which of them names its program.
#pragma once

#include <cstddef>

#include <sys/types.h>

namespace peakline::preload {

struct CommandLine {
    char buffer[4096];
    const char* words[256];
    size_t count;
};

// Reads /proc/PROCESS/cmdline; no words where it cannot be read.
void read_command_line(pid_t process, CommandLine* line);

// "" where it cannot be read.
void read_executable(pid_t process, char* path, size_t room);

// Fills `name` with the file name of the program without .py, or the module of -m; "python" for -c
// and stdin. A process that multiprocessing spawned has the name of the program that did.
void write_program_name(const CommandLine& line, const char* executable, char* name, size_t room);

}  // namespace peakline::preload
