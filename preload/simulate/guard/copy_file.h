// The guard's own work on files and folders, by system calls.
#pragma once

#include <cstddef>

namespace peakline::guard {

enum class CopyContent { kNo, kYes };

// Makes or replaces `to`, with the permissions of `from`. False: disk full, or not allowed; `to` is
// then not there.
bool copy_file(const char* from, const char* to, CopyContent content);

// The names in a folder, without "." and "..".
class FolderEntries {
public:
    explicit FolderEntries(const char* path);
    ~FolderEntries();
    FolderEntries(const FolderEntries&) = delete;
    FolderEntries& operator=(const FolderEntries&) = delete;

    // nullptr: no more. Valid until the next call.
    const char* next();
    // Whether it could be read to its end.
    bool is_read() const { return folder_ >= 0 && !has_failed_; }

private:
    int folder_;
    bool has_failed_ = false;
    long bytes_ = 0;
    long offset_ = 0;
    alignas(8) char buffer_[4096] = {};
};

}  // namespace peakline::guard
