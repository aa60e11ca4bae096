#include "changes.h"

#include <cerrno>
#include <cstring>

#include "checkpoint_files.h"
#include "copy_file.h"
#include "kernel.h"
#include "overlay.h"
#include "saving.h"

namespace peakline::guard {
namespace {

struct ErrorKeeper {
    int error = errno;
    ErrorKeeper() = default;
    ~ErrorKeeper() { errno = error; }
    ErrorKeeper(const ErrorKeeper&) = delete;
    ErrorKeeper& operator=(const ErrorKeeper&) = delete;
};

Path use(const char* path, char* buffer) {
    memcpy(buffer, path, strlen(path) + 1);
    return {AT_FDCWD, buffer};
}

// Redirects writes to a hidden file. If it cannot be created, the open fails, so that the real file
// stays unwritten.
Path hide(const Resolved& file, FileState state, CopyContent content, char* buffer) {
    char hidden[PATH_MAX];
    if (!hidden_path(file.path, hidden)) {
        return {AT_FDCWD, nullptr};
    }
    if (!copy_file(file.path, hidden, content)) {
        return {AT_FDCWD, nullptr};
    }
    set_state(file.path, state);
    if (state == FileState::kHidden) {
        say_kept(file.path);
    }
    return use(hidden, buffer);
}

bool saves_simulated(const Resolved& file) {
    return is_saving() && values_are_simulated() && !is_in_cache(file.path);
}

Path opened_new(const Resolved& file, const Path& as_requested) {
    const bool is_simulated = saves_simulated(file);
    set_state(file.path, is_simulated ? FileState::kSimulated : FileState::kOwn);
    if (is_simulated) {
        say_new(file.path);
    }
    return as_requested;
}

Path opened_own(const Resolved& file, int flags, const Path& as_requested) {
    if (saves_simulated(file)) {
        if (file.state == FileState::kOwn) {
            opened_new(file, as_requested);
        }
    } else if (file.state == FileState::kSimulated && (flags & O_TRUNC) != 0) {
        set_state(file.path, FileState::kOwn);
    }
    return as_requested;
}

Path opened_hidden(const Resolved& file, int flags, char* buffer) {
    if (saves_simulated(file)) {
        if (file.state == FileState::kHiddenOwn) {
            set_state(file.path, FileState::kHidden);
            say_kept(file.path);
        }
    } else if (file.state == FileState::kHidden && (flags & O_TRUNC) != 0) {
        set_state(file.path, FileState::kHiddenOwn);
    }
    return use(file.actual, buffer);
}

// Reopens a file that the program removed. On disk it still exists.
Path opened_removed(const Resolved& file, int flags, char* buffer) {
    if ((flags & O_CREAT) == 0) {
        return {AT_FDCWD, nullptr};
    }
    char hidden[PATH_MAX];
    if (!hidden_path(file.path, hidden)) {
        return {AT_FDCWD, nullptr};
    }
    set_state(file.path, saves_simulated(file) ? FileState::kHidden : FileState::kHiddenOwn);
    return use(hidden, buffer);
}

// Opens a file that existed before the run.
Path opened_existing(const Resolved& file, int flags, char* buffer, const Path& as_requested) {
    if ((flags & O_EXCL) != 0 || !kernel::is_regular(file.actual) || is_in_cache(file.path)) {
        return as_requested;
    }
    const auto content = (flags & O_TRUNC) != 0 ? CopyContent::kNo : CopyContent::kYes;
    if (saves_simulated(file)) {
        return hide(file, FileState::kHidden, content, buffer);
    }
    const bool may_be_checkpoint =
        holds_checkpoint(file.actual) ||
        (content == CopyContent::kNo && may_be_checkpoint_name(file.path));
    return may_be_checkpoint && values_are_simulated()
               ? hide(file, FileState::kHiddenOwn, content, buffer)
               : as_requested;
}

}  // namespace

Path read_path(int folder, const char* path, bool follows_link, char* buffer) {
    const ErrorKeeper keeper;
    Resolved file;
    if (!has_notes() || !has_redirections() ||
        !resolve(folder, path, follows_link ? LastLink::kFollow : LastLink::kKeep, &file)) {
        return {folder, path};
    }
    if (file.state == FileState::kRemoved) {
        return {folder, nullptr};
    }
    return file.is_elsewhere ? use(file.actual, buffer) : Path{folder, path};
}

Path opened_path(int folder, const char* path, int flags, char* buffer) {
    const ErrorKeeper keeper;
    const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
    const LastLink last = (flags & O_NOFOLLOW) != 0 ? LastLink::kKeep : LastLink::kFollow;
    Resolved file;
    if (!writes) {
        return read_path(folder, path, last == LastLink::kFollow, buffer);
    }
    if (!has_notes() || (flags & O_TMPFILE) == O_TMPFILE || !resolve(folder, path, last, &file)) {
        return {folder, path};
    }
    const Path as_requested = file.is_elsewhere ? use(file.actual, buffer) : Path{folder, path};
    switch (file.state) {
        case FileState::kHidden:
        case FileState::kHiddenOwn:
            return opened_hidden(file, flags, buffer);
        case FileState::kRemoved:
            return opened_removed(file, flags, buffer);
        case FileState::kOwn:
        case FileState::kSimulated:
            return opened_own(file, flags, as_requested);
        default:
            break;
    }
    if (kernel::exists(file.actual)) {
        return opened_existing(file, flags, buffer, as_requested);
    }
    return (flags & O_CREAT) != 0 ? opened_new(file, as_requested) : as_requested;
}

}  // namespace peakline::guard
