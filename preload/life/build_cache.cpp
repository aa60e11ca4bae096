#include "build_cache.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

namespace peakline::preload {
namespace {

static_assert(PATH_MAX == 4096, "as kPathBytes");

// Cuts `path` to its parent folder. Returns false at the root.
bool go_up(char* path) {
    char* slash = strrchr(path, '/');
    if (slash == nullptr || path[1] == '\0') {
        return false;
    }
    slash[slash == path ? 1 : 0] = '\0';
    return true;
}

bool only_we_write(const char* path, char* why, size_t room) {
    struct stat facts {};
    if (stat(path, &facts) != 0) {
        snprintf(why, room, "%s cannot be read", path);
        return false;
    }
    if (facts.st_uid != geteuid() && facts.st_uid != 0) {
        snprintf(why, room, "%s belongs to another user", path);
        return false;
    }
    if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        snprintf(why, room, "other users can write to %s (chmod go-w)", path);
        return false;
    }
    return true;
}

// In a sticky folder such as /tmp, nobody can replace files of others.
bool can_be_replaced_in(const char* folder) {
    struct stat facts {};
    return stat(folder, &facts) == 0 && (facts.st_mode & S_IWOTH) != 0 &&
           (facts.st_mode & S_ISVTX) == 0;
}

bool is_usable(const char* folder, char* why, size_t room) {
    char real[PATH_MAX];
    char existing[PATH_MAX];
    snprintf(existing, sizeof existing, "%s", folder);
    while (realpath(existing, real) == nullptr) {
        if (!go_up(existing)) {
            return false;
        }
    }
    const bool is_there = strcmp(existing, folder) == 0;
    if (is_there && !only_we_write(real, why, room)) {
        return false;
    }
    if (!is_there && access(real, W_OK | X_OK) != 0) {
        snprintf(why, room, "%s cannot be made", folder);
        return false;
    }
    // The existing folder itself was checked above.
    bool goes_on = !is_there || go_up(real);
    for (; goes_on; goes_on = go_up(real)) {
        if (can_be_replaced_in(real)) {
            snprintf(why, room, "other users can replace what is in %s (chmod o-w)", real);
            return false;
        }
    }
    return true;
}

}  // namespace

bool choose_cache_folder(
    const char* named, char* folder, size_t room, char* refusal, size_t refusal_room) {
    const char* const cache = getenv("XDG_CACHE_HOME");
    const char* const home = getenv("HOME");
    char own[32];
    snprintf(own, sizeof own, "-%u", static_cast<unsigned>(geteuid()));
    const struct {
        const char* base;
        const char* rest;
    } candidates[] = {
        {named, ""}, {cache, "/peakline"}, {home, "/.cache/peakline"}, {"/tmp/peakline", own}};
    refusal[0] = '\0';
    if (named != nullptr && named[0] != '\0' && named[0] != '/') {
        snprintf(refusal, refusal_room, "PEAKLINE_CACHE_DIR=%s is not an absolute path", named);
    }
    for (const auto& [base, rest] : candidates) {
        if (base == nullptr || base[0] != '/') {
            continue;
        }
        char why[PATH_MAX + 64] = "";
        const int length = snprintf(folder, room, "%s%s", base, rest);
        if (length > 0 && static_cast<size_t>(length) < room &&
            is_usable(folder, why, sizeof why)) {
            return true;
        }
        if (refusal[0] == '\0') {
            snprintf(refusal, refusal_room, "%s", why);
        }
    }
    folder[0] = '\0';
    return false;
}

bool may_load(const char* path, char* why, size_t room) {
    char real[PATH_MAX];
    if (realpath(path, real) == nullptr) {
        snprintf(why, room, "%s cannot be read", path);
        return false;
    }
    return only_we_write(real, why, room) && go_up(real) && only_we_write(real, why, room);
}

}  // namespace peakline::preload
