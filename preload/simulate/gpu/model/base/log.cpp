// Writes each message to stderr with one write(2), so that lines of several ranks do not mix.

#include "model/base/log.h"

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

namespace simgpu {
namespace {

constexpr char kPrefix[] = "peakline simgpu: ";
constexpr int kLineBytes = 800;

// The reported names. The list only grows. It has no lock, for which a forked child could wait, and
// is never destroyed, because stubs are still called while the process exits.
struct Reported {
    const char* function_name;
    Reported* next;
};
std::atomic<Reported*> g_reported{nullptr};

bool is_first_report(const char* function_name) {
    Reported* added = nullptr;
    // acquire and release: a thread that finds an entry also sees its fields.
    Reported* first = g_reported.load(std::memory_order_acquire);
    do {
        for (const Reported* at = first; at != nullptr; at = at->next) {
            if (std::strcmp(at->function_name, function_name) == 0) {
                return false;  // leaks `added` if another thread was first
            }
        }
        if (added == nullptr) {
            added = new Reported{strdup(function_name), nullptr};
        }
        added->next = first;
    } while (!g_reported.compare_exchange_weak(
        first, added, std::memory_order_release, std::memory_order_acquire));
    return true;
}

// A program may have replaced the descriptor. PEAKLINE_STDERR of `peakline run` is DEVICE:INODE,
// hexadecimal.
bool standard_error_is_first() {
    struct stat status {};
    char now[48];
    const char* const first = std::getenv("PEAKLINE_STDERR");
    if (first == nullptr || fstat(STDERR_FILENO, &status) != 0) {
        return first == nullptr;
    }
    std::snprintf(now, sizeof now, "%jx:%jx", uintmax_t{status.st_dev}, uintmax_t{status.st_ino});
    return std::strcmp(now, first) == 0;
}

}  // namespace

int log_level() {
    static const int level = [] {
        const char* text = std::getenv("PEAKLINE_SIM_LOG");
        return text == nullptr ? 1 : static_cast<int>(std::strtol(text, nullptr, 10));
    }();
    return level;
}

void log_message(int level, const char* format, ...) {
    if (level > log_level()) {
        return;
    }
    char line[kLineBytes];
    int used = std::snprintf(line, sizeof line, "%s", kPrefix);
    va_list arguments;
    va_start(arguments, format);
    used += std::vsnprintf(line + used, static_cast<size_t>(kLineBytes - used), format, arguments);
    va_end(arguments);
    if (used > kLineBytes - 2) {
        used = kLineBytes - 2;
    }
    line[used++] = '\n';
    // A closed stderr is ignored.
    if (standard_error_is_first()) {
        [[maybe_unused]] const ssize_t written =
            write(STDERR_FILENO, line, static_cast<size_t>(used));
    }
}

void report_not_modelled(const char* function_name, const char* error_name) {
    if (!is_first_report(function_name)) {
        return;
    }
    log_message(1, "%s is not modelled: returned %s", function_name, error_name);
}

}  // namespace simgpu
