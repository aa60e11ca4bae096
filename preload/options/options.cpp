#include "options.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "option_words.h"

namespace peakline::preload {
namespace {

static_assert(Options().backend == std::string_view(kBackends[0].name));
static_assert(Options().stacks == std::string_view(kStacks[0].name));

void read_one(const char* name, char* value, size_t room) {
    const char* given = getenv(name);
    if (given == nullptr || given[0] == '\0') {
        return;
    }
    const size_t length = strlen(given);
    if (length >= room) {
        say("%s is longer than %zu characters and was ignored", name, room - 1);
        return;
    }
    memcpy(value, given, length + 1);
}

}  // namespace

void read_options(Options* options) {
    const struct {
        const char* name;
        char* value;
        size_t room;
    } table[] = {
        {"PEAKLINE_OUTPUT", options->output, sizeof options->output},
        {"PEAKLINE_RUN_NOTES", options->run_notes, sizeof options->run_notes},
        {"PEAKLINE_RUN_ID", options->run_id, sizeof options->run_id},
        {"PEAKLINE_BACKEND", options->backend, sizeof options->backend},
        {"PEAKLINE_STACKS", options->stacks, sizeof options->stacks},
        {"PEAKLINE_FREES", options->frees, sizeof options->frees},
        {"PEAKLINE_KEEP", options->keep, sizeof options->keep},
        {"PEAKLINE_STEPS", options->steps, sizeof options->steps},
        {"PEAKLINE_CPU", options->cpu, sizeof options->cpu},
        {"PEAKLINE_TORCH_PART", options->torch_part, sizeof options->torch_part},
        {"PEAKLINE_CACHE_DIR", options->cache_dir, sizeof options->cache_dir},
        {"PEAKLINE_SIMULATED", options->simulated, sizeof options->simulated},
        {"PEAKLINE_ASSUME", options->assume, sizeof options->assume},
        {"PEAKLINE_MAX_VALUE_READS", options->max_value_reads, sizeof options->max_value_reads},
    };
    for (const auto& row : table) {
        read_one(row.name, row.value, row.room);
    }
}

void note_for_run(const Options& options, const char* what, const char* path) {
    char line[kPathBytes + 32];
    const int length = snprintf(line, sizeof line, "%s\t%s\n", what, path);
    if (options.run_notes[0] == '\0' || length <= 0 || static_cast<size_t>(length) >= sizeof line) {
        return;
    }
    // One write to the end: lines of several processes do not mix.
    const int file = open(options.run_notes, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file >= 0) {
        static_cast<void>(!write(file, line, static_cast<size_t>(length)));
        close(file);
    }
}

void say(const char* format, ...) {
    char line[1024] = "peakline: ";
    constexpr size_t kPrefix = 10;
    va_list arguments;
    va_start(arguments, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start stands above.
    const int wanted = vsnprintf(line + kPrefix, sizeof line - kPrefix - 1, format, arguments);
    va_end(arguments);
    size_t length = kPrefix + (wanted > 0 ? static_cast<size_t>(wanted) : 0);
    if (length > sizeof line - 2) {
        length = sizeof line - 2;
    }
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, length) < 0) {
        return;  // nowhere left to say it
    }
}

}  // namespace peakline::preload
