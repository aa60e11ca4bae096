#include "options.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include <dlfcn.h>

#include "messages.h"
#include "option_words.h"
#include "trace_name.h"

namespace peakline::preload {
namespace {

static_assert(Options().backend == std::string_view(kBackends[0].name));
static_assert(Options().stacks == std::string_view(kStacks[0].name));

// Returns false if it is too long.
bool read_one(const char* name, char* value, size_t room) {
    const char* given = getenv(name);
    if (given == nullptr || given[0] == '\0') {
        return true;
    }
    const size_t length = strlen(given);
    if (length < room) {
        memcpy(value, given, length + 1);
    }
    return length < room;
}

void read_start_folder(Options* options) {
    // Exported by the preloaded library. A program that loaded the recorder itself names its own
    // traces.
    const auto start_folder =
        reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "peakline_start_folder"));
    if (start_folder != nullptr) {
        snprintf(options->start_folder, sizeof options->start_folder, "%s", start_folder());
    }
}

}  // namespace

bool is_switched_on(const char* option) {
    return option[0] != '\0' && strcmp(option, "0") != 0;
}

void read_options(Options* options) {
    struct Row {
        const char* name;
        char* value;
        size_t room;
    };
    const Row table[] = {
        {"PEAKLINE_OUTPUT", options->output, sizeof options->output},
        {"PEAKLINE_RUN_NOTES", options->run_notes, sizeof options->run_notes},
        {"PEAKLINE_RUN_ID", options->run_id, sizeof options->run_id},
        {"PEAKLINE_BACKEND", options->backend, sizeof options->backend},
        {"PEAKLINE_STACKS", options->stacks, sizeof options->stacks},
        {"PEAKLINE_FREES", options->frees, sizeof options->frees},
        {"PEAKLINE_SAVED", options->saved, sizeof options->saved},
        {"PEAKLINE_KEEP", options->keep, sizeof options->keep},
        {"PEAKLINE_STEPS", options->steps, sizeof options->steps},
        {"PEAKLINE_CPU", options->cpu, sizeof options->cpu},
        {"PEAKLINE_TORCH_PART", options->torch_part, sizeof options->torch_part},
        {"PEAKLINE_CACHE_DIR", options->cache_dir, sizeof options->cache_dir},
        {"PEAKLINE_FILE_MODE", options->file_mode, sizeof options->file_mode},
        {"PEAKLINE_NO_COMMAND", options->no_command, sizeof options->no_command},
        {"PEAKLINE_SIMULATED", options->simulated, sizeof options->simulated},
        {"PEAKLINE_ASSUME", options->assume, sizeof options->assume},
        {"PEAKLINE_MAX_VALUE_READS", options->max_value_reads, sizeof options->max_value_reads},
    };
    const Row* too_long = nullptr;
    for (const Row& row : table) {
        if (!read_one(row.name, row.value, row.room)) {
            too_long = &row;
        }
    }
    read_start_folder(options);
    make_template_absolute(options->start_folder, options->output, sizeof options->output);
    begin_messages(*options);
    if (too_long != nullptr) {
        say("%s is longer than %zu characters and was ignored", too_long->name, too_long->room - 1);
    }
}

}  // namespace peakline::preload
