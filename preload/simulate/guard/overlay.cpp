#include "overlay.h"

#include <cstdio>
#include <cstring>

#include "kernel.h"

namespace peakline::guard {
namespace {

constexpr int kMostLinks = 40;  // same as the kernel

bool start_folder(int folder, const char* path, char (&start)[PATH_MAX]) {
    start[0] = '\0';
    if (path[0] == '/') {
        return true;
    }
    if (folder != AT_FDCWD) {
        return path_of_descriptor(folder, start);
    }
    return syscall(SYS_getcwd, start, sizeof start) > 0 && start[0] == '/';
}

// Appends the next part of `rest` to `path`. Returns false if it is too long.
bool append_part(char (&path)[PATH_MAX], const char* part, size_t length) {
    const size_t old_length = strcmp(path, "/") == 0 ? 0 : strlen(path);
    if (old_length + length + 2 > sizeof path) {
        return false;
    }
    path[old_length] = '/';
    memcpy(path + old_length + 1, part, length);
    path[old_length + 1 + length] = '\0';
    return true;
}

void drop_part(char* path) {
    char* const slash = strrchr(path, '/');
    if (slash != nullptr) {
        *slash = '\0';
    }
}

struct Walk {
    Resolved* at = nullptr;
    char rest[2 * PATH_MAX] = "";
    int link_count = 0;
};

bool place_part(Walk& walk) {
    Resolved& at = *walk.at;
    at.state = state_of(at.path);
    if (is_hidden(at.state)) {
        at.is_elsewhere = true;
        return hidden_path(at.path, at.actual);
    }
    memcpy(at.actual, at.path, sizeof at.actual);
    return true;
}

// If the last part is a link, the walk continues with its target.
bool follow_link(Walk& walk, const char* rest) {
    char target[PATH_MAX];
    const ssize_t length = kernel::readlink(walk.at->actual, target, sizeof target - 1);
    if (length <= 0) {
        memmove(walk.rest, rest, strlen(rest) + 1);
        return true;
    }
    target[length] = '\0';
    char after[sizeof walk.rest];
    snprintf(after, sizeof after, "%s", rest);
    const int wanted = snprintf(walk.rest, sizeof walk.rest, "%s/%s", target, after);
    if (wanted < 0 || static_cast<size_t>(wanted) >= sizeof walk.rest) {
        return false;
    }
    if (target[0] == '/') {
        walk.at->path[0] = '\0';
    } else {
        drop_part(walk.at->path);
    }
    return ++walk.link_count <= kMostLinks;
}

// Walks one part of the path. Returns false at the end, or if it cannot be followed.
bool step(Walk& walk, LastLink last, bool* is_wrong) {
    const char* const part = walk.rest + strspn(walk.rest, "/");
    const size_t length = strcspn(part, "/");
    const char* const rest = part + length;
    if (length == 0) {
        return false;
    }
    if ((length == 1 && part[0] == '.') || (length == 2 && memcmp(part, "..", 2) == 0)) {
        if (length == 2) {
            drop_part(walk.at->path);
        }
        memmove(walk.rest, rest, strlen(rest) + 1);
        return true;
    }
    if (!append_part(walk.at->path, part, length) || !place_part(walk)) {
        *is_wrong = true;
        return false;
    }
    const bool is_last = rest[strspn(rest, "/")] == '\0';
    if (walk.at->state == FileState::kRemoved) {
        // Files inside a removed folder count as removed.
        *is_wrong = !is_last && !append_part(walk.at->path, rest + 1, strlen(rest + 1));
        return false;
    }
    if (is_last && last == LastLink::kKeep) {
        walk.rest[0] = '\0';
        return true;
    }
    *is_wrong = !follow_link(walk, rest);
    return !*is_wrong;
}

}  // namespace

bool hidden_path(const char* path, char (&hidden)[PATH_MAX]) {
    const char* const slash = strrchr(path, '/');
    const char* const name = slash != nullptr ? slash + 1 : path;
    const int length = snprintf(
        hidden, sizeof hidden, "%.*s.%s%s", static_cast<int>(name - path), path, name, kHiddenEnd);
    return length > 0 && static_cast<size_t>(length) < sizeof hidden;
}

bool is_hidden_name(const char* name) {
    const size_t length = strlen(name);
    constexpr size_t kEndLength = sizeof kHiddenEnd - 1;
    return name[0] == '.' && length > kEndLength &&
           strcmp(name + length - kEndLength, kHiddenEnd) == 0;
}

void to_logical_path(char* path) {
    char* const slash = strrchr(path, '/');
    char* const name = slash != nullptr ? slash + 1 : path;
    if (is_hidden_name(name)) {
        const size_t length = strlen(name) - (sizeof kHiddenEnd - 1) - 1;
        memmove(name, name + 1, length);
        name[length] = '\0';
    }
}

bool path_of_descriptor(int descriptor, char (&path)[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t length = kernel::readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (path[0] != '/') {
        return false;
    }
    to_logical_path(path);
    return true;
}

bool resolve(int folder, const char* path, LastLink last, Resolved* resolved) {
    Walk walk{};
    walk.at = resolved;
    if (path == nullptr || path[0] == '\0' || strlen(path) >= PATH_MAX ||
        !start_folder(folder, path, resolved->path)) {
        return false;
    }
    snprintf(walk.rest, sizeof walk.rest, "%s", path);
    bool is_wrong = false;
    resolved->actual[0] = '\0';
    while (step(walk, last, &is_wrong)) {
    }
    if (is_wrong) {
        return false;
    }
    if (resolved->path[0] == '\0') {
        memcpy(resolved->path, "/", 2);
    }
    return resolved->state == FileState::kRemoved || place_part(walk);
}

}  // namespace peakline::guard
