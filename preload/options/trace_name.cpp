#include "trace_name.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include "allocator/record/files/small_files.h"

namespace peakline::preload {
namespace {

// The words of /proc/self/cmdline, at most `capacity` of them. Returns how many.
size_t read_command_words(char* buffer, size_t room, const char** words, size_t capacity) {
    const size_t length = record::read_file_slow("/proc/self/cmdline", buffer, room - 1);
    size_t count = 0;
    for (size_t at = 0; at < length && count < capacity;) {
        words[count++] = buffer + at;
        at += strlen(buffer + at) + 1;
    }
    return count;
}

bool takes_argument(const char* option) {
    return strcmp(option, "-W") == 0 || strcmp(option, "-X") == 0 ||
           strcmp(option, "--check-hash-based-pycs") == 0;
}

// What python was asked to run: a script, -m module, -c code or stdin.
const char* program_word(const char* const* words, size_t count) {
    for (size_t i = 1; i < count; ++i) {
        if (strcmp(words[i], "-m") == 0) {
            return i + 1 < count ? words[i + 1] : "python";
        }
        if (strcmp(words[i], "-c") == 0 || strcmp(words[i], "-") == 0) {
            return "python";
        }
        if (words[i][0] != '-') {
            return words[i];
        }
        i += takes_argument(words[i]) ? 1 : 0;
    }
    return count > 0 ? words[0] : "program";
}

void copy_base_name(const char* path, char* name, size_t room) {
    const char* slash = strrchr(path, '/');
    const char* base = slash != nullptr ? slash + 1 : path;
    snprintf(name, room, "%s", base);
    const size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".py") == 0) {
        name[length - 3] = '\0';
    }
}

void append(char* text, size_t room, const char* more) {
    const size_t length = strlen(text);
    snprintf(text + length, room - length, "%s", more);
}

// The machines of a job have run ids of their own: what its launcher calls it is the same there.
void name_run(ProcessNames* names, const char* run_id) {
    constexpr int kDigits = 8;
    const JobPlace& place = names->place;
    const bool is_on_one_machine = strcmp(place.local_world_size, place.world_size) == 0;
    if (place.job[0] == '\0' || (is_on_one_machine && run_id[0] != '\0')) {
        snprintf(names->run, sizeof names->run, "%.*s", kDigits, run_id);
        return;
    }
    snprintf(names->run, sizeof names->run, "%.47s", place.job);
    for (char* at = names->run; *at != '\0'; ++at) {
        if (isalnum(static_cast<unsigned char>(*at)) == 0 && strchr("-_.", *at) == nullptr) {
            *at = '-';
        }
    }
}

const char* default_template(const ProcessNames& names) {
    const JobPlace& place = names.place;
    if (place.rank[0] == '\0' || strcmp(place.world_size, "1") == 0 || names.run[0] == '\0') {
        return "peakline-%e.%h.%r.peak";
    }
    const bool is_first = place.attempt[0] == '\0' || strcmp(place.attempt, "0") == 0;
    return is_first ? "peakline-%e.%i/rank%r.%h.peak" : "peakline-%e.%i/rank%r.%h.attempt%a.peak";
}

// What stands for the placeholder of this letter; nullptr: it is none.
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
            return names.place.rank[0] != '\0' ? names.place.rank : process;
        case 'l':
            return or_zero(names.place.local_rank);
        case 'a':
            return or_zero(names.place.attempt);
        case 'i':
            return names.run[0] != '\0' ? names.run : process;
        case '%':
            return "%";
        default:
            return nullptr;
    }
}

}  // namespace

void read_process_names(ProcessNames* names, const char* run_id) {
    char buffer[4096] = {};
    const char* words[256];
    const size_t count = read_command_words(buffer, sizeof buffer, words, 256);
    copy_base_name(program_word(words, count), names->script, sizeof names->script);
    names->command[0] = '\0';
    for (size_t i = 0; i < count; ++i) {
        append(names->command, sizeof names->command, i > 0 ? " " : "");
        append(names->command, sizeof names->command, words[i]);
    }
    if (gethostname(names->host, sizeof names->host) != 0) {
        snprintf(names->host, sizeof names->host, "host");
    }
    names->host[sizeof names->host - 1] = '\0';
    const ssize_t length =
        readlink("/proc/self/exe", names->executable, sizeof names->executable - 1);
    names->executable[length > 0 ? length : 0] = '\0';
    read_job_place(&names->place);
    name_run(names, run_id);
}

bool expand_trace_name(const char* name_template,
                       const ProcessNames& names,
                       char* path,
                       size_t room) {
    const char* from = name_template[0] != '\0' ? name_template : default_template(names);
    char process[32];
    snprintf(process, sizeof process, "%d", static_cast<int>(getpid()));
    size_t length = 0;
    for (; *from != '\0'; ++from) {
        const char one[2] = {*from, '\0'};
        const char* piece = one;
        if (*from == '%') {
            const char* const value = value_of(from[1], names, process);
            piece = value != nullptr ? value : one;  // not ours: the percent sign stays as it is
            from += value != nullptr ? 1 : 0;
        }
        const size_t piece_length = strlen(piece);
        if (length + piece_length >= room) {
            return false;
        }
        memcpy(path + length, piece, piece_length);
        length += piece_length;
    }
    path[length] = '\0';
    return true;
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
