// Changes of names: moves, links and removes files, creates and removes folders.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "allocator/record/files/own_descriptors.h"
#include "changes.h"
#include "checkpoint_files.h"
#include "copy_file.h"
#include "kernel.h"
#include "overlay.h"
#include "saving.h"

namespace peakline::guard {
namespace {

// Whether removing this file would lose a real checkpoint.
bool is_kept(const Resolved& file) {
    if (file.state != FileState::kNone || is_in_cache(file.path) || !values_are_simulated()) {
        return false;
    }
    if (is_removing_checkpoints()) {
        return !kernel::is_folder(file.actual);
    }
    return is_link_to_checkpoint(file.actual) ||
           (kernel::is_regular(file.actual) &&
            (is_checkpoint_name(file.path) || holds_checkpoint(file.actual) ||
             is_beside_checkpoint(file.path)));
}

// Uses descriptors that are not in the program's table.
bool is_empty_for_program_slow(const char* folder) {
    char path[PATH_MAX];
    FolderEntries entries(folder);
    while (const char* const name = entries.next()) {
        if (is_hidden_name(name)) {
            continue;
        }
        const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
        if (length < 0 || static_cast<size_t>(length) >= sizeof path ||
            state_of(path) != FileState::kRemoved) {
            return false;
        }
    }
    return entries.is_read();
}

// Whether the folder holds only files that the program has removed.
bool is_empty_for_program(const char* folder) {
    bool is_empty = false;
    record::with_own_descriptors([&] { is_empty = is_empty_for_program_slow(folder); });
    return is_empty;
}

int no_such_file() {
    errno = ENOENT;
    return -1;
}

// Whether a file moved to `to` goes to the hidden file, because a real file there must be kept.
bool goes_to_hidden(const Resolved& to, bool has_no_values) {
    if (is_hidden(to.state) || to.state == FileState::kRemoved) {
        return true;
    }
    return to.state == FileState::kNone && kernel::exists(to.path) && !is_in_cache(to.path) &&
           (is_kept(to) || (kernel::is_regular(to.path) && values_are_simulated() &&
                            (has_no_values || may_be_checkpoint_name(to.path))));
}

// Gives a real checkpoint another name: the program sees a copy under that name.
int copy_under_new_name(const Resolved& from,
                        const Resolved& to,
                        bool is_hidden_there,
                        const char* new_path) {
    if (!copy_file(from.path, new_path, CopyContent::kYes)) {
        errno = ENOSPC;
        return -1;
    }
    set_state(from.path, FileState::kRemoved);
    set_state(to.path, is_hidden_there ? FileState::kHidden : FileState::kSimulated);
    say_kept(from.path);
    return 0;
}

void note_move(const Resolved& from, const Resolved& to, bool is_hidden_there) {
    const bool has_no_values = is_simulated(from.state);
    if (is_hidden_there) {
        set_state(to.path, has_no_values ? FileState::kHidden : FileState::kHiddenOwn);
        if (has_no_values) {
            say_kept(to.path);
        }
        if (!is_hidden(from.state)) {
            set_state(from.path, FileState::kNone);
        }
    } else if (is_hidden(from.state)) {
        set_state(to.path, has_no_values ? FileState::kSimulated : FileState::kOwn);
    } else {
        move_states(from.path, to.path);
    }
    if (is_hidden(from.state)) {
        set_state(from.path, FileState::kRemoved);
    }
}

int rename_as_requested(int from_folder, const char* from, int to_folder, const char* to) {
    return static_cast<int>(syscall(SYS_renameat, from_folder, from, to_folder, to));
}

}  // namespace

int rename_file(int from_folder, const char* from, int to_folder, const char* to) {
    Resolved source;
    Resolved target;
    const int error = errno;
    if (!has_notes() || !resolve(from_folder, from, LastLink::kKeep, &source) ||
        !resolve(to_folder, to, LastLink::kKeep, &target) ||
        strcmp(source.path, target.path) == 0) {
        errno = error;
        return rename_as_requested(from_folder, from, to_folder, to);
    }
    if (source.state == FileState::kRemoved) {
        return no_such_file();
    }
    const bool has_no_values = is_simulated(source.state);
    const bool is_hidden_there = goes_to_hidden(target, has_no_values);
    char new_path[PATH_MAX];
    if (!is_hidden_there) {
        memcpy(new_path, target.path, sizeof new_path);
    } else if (!hidden_path(target.path, new_path)) {
        return no_such_file();
    }
    int result = 0;
    if (kernel::is_regular(source.actual) && is_kept(source)) {
        result = copy_under_new_name(source, target, is_hidden_there, new_path);
    } else {
        const char* const old_name = is_hidden(source.state) ? source.actual : source.path;
        result = kernel::rename(old_name, new_path);
        if (result == 0) {
            note_move(source, target, is_hidden_there);
        }
    }
    if (result == 0) {
        errno = error;
    }
    return result;
}

int link_file(int from_folder, const char* from, int to_folder, const char* to, int flags) {
    Resolved source;
    Resolved target;
    const LastLink last = (flags & AT_SYMLINK_FOLLOW) != 0 ? LastLink::kFollow : LastLink::kKeep;
    const int error = errno;
    if (!has_notes() || (flags & AT_EMPTY_PATH) != 0 ||
        !resolve(from_folder, from, last, &source) ||
        !resolve(to_folder, to, LastLink::kKeep, &target)) {
        errno = error;
        return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
    }
    if (source.state == FileState::kRemoved) {
        return no_such_file();
    }
    const bool is_removed = target.state == FileState::kRemoved;
    char new_path[PATH_MAX];
    if (!is_removed) {
        memcpy(new_path, target.path, sizeof new_path);
    } else if (!hidden_path(target.path, new_path)) {
        return no_such_file();
    }
    const char* const old_name = is_hidden(source.state) ? source.actual : source.path;
    const long result = syscall(SYS_linkat, AT_FDCWD, old_name, AT_FDCWD, new_path, 0);
    if (result != 0) {
        return -1;
    }
    const bool has_no_values = is_simulated(source.state);
    if (is_removed) {
        set_state(target.path, has_no_values ? FileState::kHidden : FileState::kHiddenOwn);
    } else if (has_no_values || source.state != FileState::kNone) {
        set_state(target.path, has_no_values ? FileState::kSimulated : FileState::kOwn);
    }
    errno = error;
    return 0;
}

int symlink_file(const char* target, int folder, const char* path) {
    Resolved link;
    const int error = errno;
    if (!has_notes() || !resolve(folder, path, LastLink::kKeep, &link)) {
        errno = error;
        return static_cast<int>(syscall(SYS_symlinkat, target, folder, path));
    }
    if (is_hidden(link.state)) {
        errno = EEXIST;
        return -1;
    }
    char hidden[PATH_MAX];
    const bool is_removed = link.state == FileState::kRemoved && hidden_path(link.path, hidden);
    if (kernel::symlink(target, is_removed ? hidden : link.path) != 0) {
        return -1;
    }
    set_state(link.path, is_removed ? FileState::kHiddenOwn : FileState::kLink);
    errno = error;
    return 0;
}

int unlink_file(int folder, const char* path) {
    Resolved file;
    const int error = errno;
    if (!has_notes() || !resolve(folder, path, LastLink::kKeep, &file)) {
        errno = error;
        return static_cast<int>(syscall(SYS_unlinkat, folder, path, 0));
    }
    if (file.state == FileState::kRemoved) {
        return no_such_file();
    }
    const bool is_real = is_kept(file);
    if (!is_real && !is_hidden(file.state)) {
        const auto result = static_cast<int>(syscall(SYS_unlinkat, folder, path, 0));
        if (result == 0 && file.state != FileState::kNone) {
            set_state(file.path, FileState::kNone);
        }
        errno = result == 0 ? error : errno;
        return result;
    }
    if (is_hidden(file.state)) {
        kernel::unlink(file.actual);
    } else {
        say_kept(file.path);
    }
    set_state(file.path, FileState::kRemoved);
    errno = error;
    return 0;
}

int remove_folder(int folder, const char* path) {
    Resolved found;
    const int error = errno;
    const bool is_known = has_notes() && resolve(folder, path, LastLink::kKeep, &found);
    if (is_known && found.state == FileState::kRemoved) {
        return no_such_file();
    }
    errno = error;
    if (syscall(SYS_unlinkat, folder, path, AT_REMOVEDIR) == 0) {
        if (is_known && found.state != FileState::kNone) {
            set_state(found.path, FileState::kNone);
        }
        return 0;
    }
    const int reason = errno;
    if (is_known && reason == ENOTEMPTY && has_redirections() && is_empty_for_program(found.path)) {
        set_state(found.path, FileState::kRemoved);
        errno = error;
        return 0;
    }
    errno = reason;
    return -1;
}

int make_folder(int folder, const char* path, mode_t mode) {
    Resolved made;
    const int error = errno;
    const bool is_known = has_notes() && resolve(folder, path, LastLink::kKeep, &made);
    errno = error;
    if (is_known && made.state == FileState::kRemoved) {
        set_state(made.path, FileState::kNone);
        errno = error;
        return 0;
    }
    const long result = syscall(SYS_mkdirat, folder, path, mode);
    if (result == 0 && is_known) {
        set_state(made.path, FileState::kFolder);
        errno = error;
    }
    return static_cast<int>(result);
}

}  // namespace peakline::guard
