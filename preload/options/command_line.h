// The command line of a process, and the name of its program.
#pragma once

#include <cstddef>

#include <sys/types.h>

namespace peakline::preload {

struct CommandLine {
    char buffer[4096];
    const char* words[256];
    size_t count;
};

// Reads /proc/PROCESS/cmdline. Leaves no words if it cannot be read.
void read_command_line(pid_t process, CommandLine* line);

// Leaves "" if it cannot be read.
void read_executable(pid_t process, char* path, size_t room);

// Fills `name` with the file name of the program without .py, or the module of -m; "python" for -c
// and stdin. A process spawned by multiprocessing gets the name of the program that spawned it.
void write_program_name(const CommandLine& line, const char* executable, char* name, size_t room);

}  // namespace peakline::preload
