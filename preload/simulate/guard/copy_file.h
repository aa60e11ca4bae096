// File and folder operations of the guard itself, by system calls.
#pragma once

#include <cstddef>

namespace peakline::guard {

enum class CopyContent { kNo, kYes };

// Creates or replaces `to`, with the permissions of `from`. Returns false if the disk is full or
// access is denied; `to` then does not exist.
bool copy_file(const char* from, const char* to, CopyContent content);

// Iterates over the names in a folder, without "." and "..".
class FolderEntries {
public:
    explicit FolderEntries(const char* path);
    ~FolderEntries();
    FolderEntries(const FolderEntries&) = delete;
    FolderEntries& operator=(const FolderEntries&) = delete;

    // nullptr at the end. Valid until the next call.
    const char* next();
    // Whether the folder was read without errors.
    bool is_read() const { return folder_ >= 0 && !has_failed_; }

private:
    int folder_;
    bool has_failed_ = false;
    long bytes_ = 0;
    long offset_ = 0;
    alignas(8) char buffer_[4096] = {};
};

}  // namespace peakline::guard
