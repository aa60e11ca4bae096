// Small files that we read or append to inside the program, and its standard error. Each call opens
// and closes with its own descriptors: Note [Own descriptors]. None allocates.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::record {

// Reads the first bytes of the file, at most `room`. Returns their number; 0 when it is unreadable.
size_t read_file_slow(const char* path, void* bytes, size_t room);

// Appends a line in one write, so that lines of several processes do not mix. The file exists.
bool append_to_file_slow(const char* path, const void* bytes, size_t length);

// Identifies the file of a descriptor.
struct FileIdentity {
    uint64_t device = 0;
    uint64_t inode = 0;  // 0: none

    bool operator==(const FileIdentity&) const = default;
};
FileIdentity identity_of(int descriptor);

// The program's original standard error: the one that the preloaded library saw before the
// program's first line (preload/standard_error.cpp), that of `peakline run` (PEAKLINE_STDERR), or
// the current one.
FileIdentity first_standard_error();

// Writes to standard error if it still leads to this file: a program may have given descriptor 2 to
// a file of its own. False: nothing was written.
bool write_standard_error_slow(const FileIdentity& expected, const void* bytes, size_t length);

}  // namespace peakline::record
