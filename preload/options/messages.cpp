#include "messages.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "allocator/record/files/small_files.h"
#include "allocator/record/format/unsafe_text.h"

namespace peakline::preload {
namespace {

record::FileIdentity g_standard_error;
char g_run_notes[kPathBytes];

}  // namespace

void begin_messages(const Options& options) {
    memcpy(g_run_notes, options.run_notes, sizeof g_run_notes);
    g_standard_error = record::first_standard_error();
}

bool note_for_run(const char* what, const char* path) {
    char line[kPathBytes + 32];
    const int length = snprintf(line, sizeof line, "%s\t%s\n", what, path);
    return g_run_notes[0] != '\0' && length > 0 && static_cast<size_t>(length) < sizeof line &&
           record::append_to_file_slow(g_run_notes, line, static_cast<size_t>(length));
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
    length = format::make_printable(line, length);
    line[length] = '\n';
    if (!record::write_standard_error_slow(g_standard_error, line, length + 1)) {
        line[length] = '\0';
        note_for_run("said", line + kPrefix);
    }
}

}  // namespace peakline::preload
