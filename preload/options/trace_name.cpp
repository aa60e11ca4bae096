#include "trace_name.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include "command_line.h"
#include "masked_words.h"

namespace peakline::preload {
namespace {

// Machines of a job have different run ids, but the launcher's name for the job is the same on all.
void name_run(ProcessNames* names, const char* run_id) {
    constexpr int kDigits = 8;
    const RankInfo& rank_info = names->rank_info;
    const bool is_on_one_machine = strcmp(rank_info.local_world_size, rank_info.world_size) == 0;
    if (rank_info.job[0] == '\0' || (is_on_one_machine && run_id[0] != '\0')) {
        snprintf(names->run, sizeof names->run, "%.*s", kDigits, run_id);
        return;
    }
    snprintf(names->run, sizeof names->run, "%.47s", rank_info.job);
    for (char* at = names->run; *at != '\0'; ++at) {
        if (isalnum(static_cast<unsigned char>(*at)) == 0 && strchr("-_.", *at) == nullptr) {
            *at = '-';
        }
    }
}

const char* default_template(const ProcessNames& names) {
    const RankInfo& rank_info = names.rank_info;
    if (rank_info.rank[0] == '\0' || strcmp(rank_info.world_size, "1") == 0 ||
        names.run[0] == '\0') {
        return "peakline-%e.%h.%r.peak";
    }
    const bool is_first = rank_info.attempt[0] == '\0' || strcmp(rank_info.attempt, "0") == 0;
    return is_first ? "peakline-%e.%i/rank%r.%h.peak" : "peakline-%e.%i/rank%r.%h.attempt%a.peak";
}

// The value for this placeholder; nullptr if the letter is not one.
const char* value_of(char letter, const ProcessNames& names, const char* process) {
    const auto or_zero = [](const char* text) { return text[0] != '\0' ? text : "0"; };
    switch (letter) {
        case 'e':
            return names.script;
        case 'h':
            return names.host;
        case 'p':
            return process;
        case 'r':
            return names.rank_info.rank[0] != '\0' ? names.rank_info.rank : process;
        case 'l':
            return or_zero(names.rank_info.local_rank);
        case 'a':
            return or_zero(names.rank_info.attempt);
        case 'i':
            return names.run[0] != '\0' ? names.run : process;
        case '%':
            return "%";
        default:
            return nullptr;
    }
}

// A value from the environment may contain any character; slashes are replaced so that it stays one
// part of the path.
bool append_value(const char* value, char* path, size_t* length, size_t room) {
    const char* const first = value;
    for (; *value != '\0'; ++value) {
        if (*length + 1 >= room) {
            return false;
        }
        const bool is_harmless = *value != '/' && static_cast<unsigned char>(*value) >= ' ' &&
                                 *value != '\x7f' && !(*value == '.' && value == first);
        path[(*length)++] = is_harmless ? *value : '-';
    }
    path[*length] = '\0';
    return true;
}

bool append_expanded(
    const char* from, const ProcessNames& names, char* path, size_t* length, size_t room) {
    char process[32];
    snprintf(process, sizeof process, "%d", static_cast<int>(getpid()));
    for (; *from != '\0'; ++from) {
        const char* const value = *from == '%' ? value_of(from[1], names, process) : nullptr;
        if (value != nullptr) {
            ++from;
            if (!append_value(value, path, length, room)) {
                return false;
            }
            continue;
        }
        if (*length + 1 >= room) {
            return false;
        }
        path[(*length)++] = *from;  // also a percent sign without a placeholder
    }
    path[*length] = '\0';
    return true;
}

bool is_folder(const char* path) {
    struct stat status {};
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

void read_process_names(ProcessNames* names, const char* run_id) {
    CommandLine line;
    read_command_line(getpid(), &line);
    write_masked(line.words, line.count, names->command, sizeof names->command);
    if (gethostname(names->host, sizeof names->host) != 0) {
        snprintf(names->host, sizeof names->host, "host");
    }
    names->host[sizeof names->host - 1] = '\0';
    read_executable(getpid(), names->executable, sizeof names->executable);
    write_program_name(line, names->executable, names->script, sizeof names->script);
    read_rank_info(&names->rank_info);
    name_run(names, run_id);
}

void make_template_absolute(const char* folder, char* name_template, size_t room) {
    char absolute[4096];
    size_t length = 0;
    if (folder[0] == '\0' || name_template[0] == '/') {
        return;
    }
    for (const char* from = folder; *from != '\0'; ++from) {
        if (length + 3 > sizeof absolute) {
            return;
        }
        absolute[length++] = *from;
        if (*from == '%') {
            absolute[length++] = '%';  // a template escapes it so
        }
    }
    if (length > 1) {
        absolute[length++] = '/';
    }
    const size_t rest = strlen(name_template) + 1;
    if (length + rest <= sizeof absolute && length + rest <= room) {
        memcpy(absolute + length, name_template, rest);
        memcpy(name_template, absolute, length + rest);
    }
}

bool expand_trace_name(const char* name_template,
                       const ProcessNames& names,
                       char* path,
                       size_t room) {
    size_t length = 0;
    if (!append_expanded(name_template, names, path, &length, room)) {
        return false;
    }
    const bool is_slashed = length > 0 && path[length - 1] == '/';
    if (length > 0 && !is_slashed && !is_folder(path)) {
        return true;
    }
    if (length > 0 && !is_slashed && !append_expanded("/", names, path, &length, room)) {
        return false;
    }
    return append_expanded(default_template(names), names, path, &length, room);
}

bool numbered_name(const char* path, unsigned number, char* numbered, size_t room) {
    const char* slash = strrchr(path, '/');
    const char* dot = strrchr(slash != nullptr ? slash : path, '.');
    const size_t stem = dot != nullptr ? static_cast<size_t>(dot - path) : strlen(path);
    const int wanted = snprintf(numbered,
                                room,
                                "%.*s.%u%s",
                                static_cast<int>(stem),
                                path,
                                number,
                                dot != nullptr ? dot : "");
    return wanted > 0 && static_cast<size_t>(wanted) < room;
}

bool is_device_file(const char* path) {
    struct stat status {};
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

bool parse_file_mode(const char* text, mode_t* mode) {
    constexpr mode_t kOwner = 0600;
    constexpr mode_t kMost = 0666;
    const size_t length = strlen(text);
    if (length < 3 || length > 4 || strspn(text, "01234567") != length) {
        return false;
    }
    const auto given = static_cast<mode_t>(strtoul(text, nullptr, 8));
    if ((given & ~kMost) != 0) {
        return false;
    }
    *mode = given | kOwner;
    return true;
}

int make_parent_folders(const char* path) {
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    for (char* at = folder + 1; *at != '\0'; ++at) {
        if (*at != '/') {
            continue;
        }
        *at = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
            return errno;
        }
        *at = '/';
    }
    return 0;
}

}  // namespace peakline::preload
