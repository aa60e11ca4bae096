// Line-at-a-time messages on stderr. Each message is one write(2), so that ranks do not mix lines.

#include "model/log.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <unordered_set>

#include <unistd.h>

namespace simgpu {
namespace {

constexpr char kPrefix[] = "peakline simgpu: ";
constexpr int kLineBytes = 800;

}  // namespace

int log_level() {
    static const int level = [] {
        const char* text = std::getenv("PEAKLINE_SIM_LOG");
        return text == nullptr ? 1 : std::atoi(text);
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
    // Nothing can be done about a closed stderr.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(used));
}

void report_not_modelled(const char* function_name, const char* error_name) {
    static std::mutex mutex;
    // Never destroyed: stubs are still called while the process exits.
    static auto* const reported = new std::unordered_set<std::string>;
    {
        const std::lock_guard guard(mutex);
        if (!reported->insert(function_name).second) {
            return;
        }
    }
    log_message(1, "%s is not modelled: returned %s", function_name, error_name);
}

}  // namespace simgpu
