#include "command_line.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "allocator/record/files/small_files.h"

namespace peakline::preload {
namespace {

constexpr int kMostGenerations = 8;
constexpr char kSpawned[] = "from multiprocessing.";

size_t read_file_of(pid_t process, const char* name, char* buffer, size_t room) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", static_cast<int>(process), name);
    const size_t length = record::read_file_slow(path, buffer, room - 1);
    buffer[length] = '\0';
    return length;
}

// 0: unknown.
pid_t parent_of(pid_t process) {
    char text[512] = "";
    read_file_of(process, "stat", text, sizeof text);
    // "PID (NAME) STATE PARENT ...": a name may contain any character.
    const char* const after_name = strrchr(text, ')');
    return after_name != nullptr && strlen(after_name) > 4 ? atoi(after_name + 4) : 0;
}

const char* base_name(const char* path) {
    const char* const slash = strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

bool takes_argument(const char* option) {
    return strcmp(option, "-W") == 0 || strcmp(option, "-X") == 0 ||
           strcmp(option, "--check-hash-based-pycs") == 0;
}

// The program that Python runs: a script, -m module, -c code or stdin. `code` gets the text of -c.
const char* program_word(const CommandLine& line, const char** code) {
    for (size_t i = 1; i < line.count; ++i) {
        const char* const next = i + 1 < line.count ? line.words[i + 1] : nullptr;
        if (strcmp(line.words[i], "-m") == 0) {
            return next != nullptr ? next : "python";
        }
        if (strcmp(line.words[i], "-c") == 0 || strcmp(line.words[i], "-") == 0) {
            *code = next;
            return "python";
        }
        if (line.words[i][0] != '-') {
            return line.words[i];
        }
        i += takes_argument(line.words[i]) ? 1 : 0;
    }
    return line.count > 0 ? line.words[0] : "program";
}

void copy_program_name(const char* path, char* name, size_t room) {
    snprintf(name, room, "%s", base_name(path));
    const size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".py") == 0) {
        name[length - 3] = '\0';
    }
}

bool is_python(const char* executable) {
    return strncmp(base_name(executable), "python", strlen("python")) == 0;
}

bool is_spawned(const char* code) {
    return code != nullptr && strncmp(code, kSpawned, sizeof kSpawned - 1) == 0;
}

}  // namespace

void read_command_line(pid_t process, CommandLine* line) {
    const size_t length = read_file_of(process, "cmdline", line->buffer, sizeof line->buffer);
    constexpr size_t kMostWords = sizeof line->words / sizeof line->words[0];
    line->count = 0;
    for (size_t at = 0; at < length && line->count < kMostWords;) {
        line->words[line->count++] = line->buffer + at;
        at += strlen(line->buffer + at) + 1;
    }
}

void read_executable(pid_t process, char* path, size_t room) {
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", static_cast<int>(process));
    const ssize_t length = readlink(link, path, room - 1);
    path[length > 0 ? length : 0] = '\0';
}

void write_program_name(const CommandLine& line, const char* executable, char* name, size_t room) {
    const char* code = nullptr;
    if (!is_python(executable)) {
        // Without Python, the program is the executable.
        copy_program_name(line.count > 0 ? line.words[0] : executable, name, room);
        return;
    }
    copy_program_name(program_word(line, &code), name, room);
    CommandLine parent;
    char parent_executable[512];
    pid_t process = getpid();
    for (int i = 0; is_spawned(code) && i < kMostGenerations; ++i) {
        process = parent_of(process);
        read_executable(process, parent_executable, sizeof parent_executable);
        read_command_line(process, &parent);
        code = nullptr;
        if (is_python(parent_executable)) {
            copy_program_name(program_word(parent, &code), name, room);
        }
    }
}

}  // namespace peakline::preload
