#include "copy_file.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "allocator/record/files/own_descriptors.h"
#include "kernel.h"

namespace peakline::guard {
namespace {

// Layout of an entry from getdents64.
struct Entry {
    uint64_t inode;
    int64_t next_offset;
    uint16_t bytes;
    uint8_t type;
    char name[1];
};

bool copy_by_hand(int from, int to) {
    char buffer[16384];
    while (true) {
        const ssize_t bytes = read(from, buffer, sizeof buffer);
        if (bytes <= 0) {
            return bytes == 0;
        }
        for (ssize_t done = 0; done < bytes;) {
            const ssize_t written = write(to, buffer + done, static_cast<size_t>(bytes - done));
            if (written < 0) {
                return false;
            }
            done += written;
        }
    }
}

// Lets the file system copy if it can: that reads nothing, and often shares the disk blocks.
bool copy_content(int from, int to) {
    constexpr size_t kMost = size_t{1} << 30;
    while (true) {
        const ssize_t bytes = kernel::copy_file_range(from, to, kMost);
        if (bytes == 0) {
            return copy_by_hand(from, to);  // some file systems copy nothing and report success
        }
        if (bytes < 0) {
            return errno != ENOSPC && errno != EIO && copy_by_hand(from, to);
        }
    }
}

// Uses descriptors that are not in the program's table.
bool copy_file_slow(const char* from, const char* to, CopyContent content) {
    const int source = kernel::open(from, O_RDONLY);
    struct stat status {};
    if (source < 0 || fstat(source, &status) != 0) {
        // The file may be writable without being readable.
        if (!kernel::stat(from, &status)) {
            return false;
        }
    }
    const int copy = kernel::open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool is_done = copy >= 0 && fchmod(copy, status.st_mode & 07777) == 0;
    if (is_done && content == CopyContent::kYes) {
        is_done = source >= 0 && copy_content(source, copy);
    }
    if (source >= 0) {
        close(source);
    }
    if (copy >= 0) {
        close(copy);
        if (!is_done) {
            kernel::unlink(to);
        }
    }
    return is_done;
}

}  // namespace

bool copy_file(const char* from, const char* to, CopyContent content) {
    bool is_done = false;
    record::with_own_descriptors([&] { is_done = copy_file_slow(from, to, content); });
    return is_done;
}

FolderEntries::FolderEntries(const char* path)
    : folder_(kernel::open(path, O_RDONLY | O_DIRECTORY)) {}

FolderEntries::~FolderEntries() {
    if (folder_ >= 0) {
        close(folder_);
    }
}

const char* FolderEntries::next() {
    while (folder_ >= 0) {
        if (offset_ >= bytes_) {
            bytes_ = syscall(SYS_getdents64, folder_, buffer_, sizeof buffer_);
            offset_ = 0;
            has_failed_ = bytes_ < 0;
            if (bytes_ <= 0) {
                return nullptr;
            }
        }
        const auto* const entry = reinterpret_cast<const Entry*>(buffer_ + offset_);
        offset_ += entry->bytes;
        if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0) {
            return entry->name;
        }
    }
    return nullptr;
}

}  // namespace peakline::guard
