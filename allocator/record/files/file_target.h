// A trace file: preallocated, mapped chunk by chunk. It has no open descriptor between two calls.
// Note [A file without a descriptor]
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

#include <sys/types.h>

#include "chunk_target.h"

struct stat;

namespace peakline::record {

class FileTarget final : public ChunkTarget {
public:
    static constexpr size_t kPathBytes = PATH_MAX;
    enum class Exists { kFail, kReplace };
    // Changes to the file by others while it is written.
    enum class Loss {
        kNone,
        kMoved,      // its name is gone or leads to another file: removed, renamed or replaced
        kTruncated,  // it is shorter than we made it
    };

    // A trace holds names of files, lines and arguments of a program: only its owner may read it.
    static constexpr mode_t kPrivate = 0600;

    // Creates the file with this superblock, and locks it (flock) until it is closed. `mode`
    // applies regardless of the umask, and must let the owner read and write. A relative path is
    // resolved now. False with error() set; then no new file is left, and an old file is unchanged.
    bool create(const char* path,
                const format::Superblock& superblock,
                Exists exists,
                mode_t mode = kPrivate);
    // The whole path; the array has kPathBytes.
    const char* path() const { return path_; }
    bool is_open() const { return first_page_ != nullptr; }
    Loss loss() const;
    // Closes without touching the content.
    void abandon();
    // The same in the child of fork, which does not have these mappings.
    void leave_to_parent();

    unsigned char* open_chunk_slow(uint64_t index) override;
    void close_chunk(uint64_t index, unsigned char* chunk) override;
    void clear_chunk_slow(uint64_t index) override;
    void trim(uint64_t chunk_count, uint64_t last_chunk_bytes) override;
    int error() const override { return error_; }

private:
    bool set_path(const char* path);
    // Each returns 0 or an errno, and runs with its own descriptors.
    int create_slow(const char* path, const format::Superblock& superblock, mode_t mode);
    int fill_new_slow(int file, const format::Superblock& superblock);
    int map_chunk_slow(int file, uint64_t index, void** chunk);
    int allocate_slow(int file, uint64_t end_bytes);
    // Calls work(descriptor) with the file open, if its name leads to our file and it is whole.
    template <class Work>
    bool with_file(Work&& work);
    int open_own_slow() const;
    bool is_own(const struct stat& status) const;

    void* first_page_ = nullptr;  // keeps the file open, and with it the lock
    int error_ = 0;
    uint64_t allocated_bytes_ = 0;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    char path_[kPathBytes] = "";
};

}  // namespace peakline::record
