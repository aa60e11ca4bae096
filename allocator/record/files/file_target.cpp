#include "file_target.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "own_descriptors.h"
#include "page_guard.h"

namespace peakline::record {
namespace {

constexpr uint64_t kGrowBytes = uint64_t{4} << 20;
constexpr size_t kPageBytes = 4096;
constexpr size_t kChunkPages = format::kChunkBytes / kPageBytes;
// <linux/mman.h> has it since Linux 5.14; older C libraries do not name it.
constexpr int kPopulateWrite = 23;

// Calls until no signal interrupts it. Returns 0 or an errno.
template <class Call>
int uninterrupted(Call&& call) {
    while (call() < 0) {
        if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

int write_all(int file, const void* bytes, size_t length) {
    const auto* from = static_cast<const char*>(bytes);
    while (length > 0) {
        ssize_t written = 0;
        const int error = uninterrupted([&] { return written = write(file, from, length); });
        if (error != 0 || written == 0) {
            return error != 0 ? error : EIO;
        }
        from += written;
        length -= static_cast<size_t>(written);
    }
    return 0;
}

// Writes zeros in one call. The kernel then has all pages of the chunk at once, in large folios if
// the file system has them: a quarter of the time of a fault at each page's first write. Pages that
// cannot be written are left to those faults: the blocks exist.
void write_zeros_slow(int file, uint64_t offset) {
    static const std::array<unsigned char, kPageBytes> zeros = {};
    std::array<iovec, kChunkPages> pages = {};
    pages.fill({const_cast<unsigned char*>(zeros.data()), kPageBytes});
    uninterrupted(
        [&] { return pwritev(file, pages.data(), kChunkPages, static_cast<off_t>(offset)); });
}

// The kernel gives real blocks now: a sparse file would raise SIGBUS when the disk is full.
int preallocate_slow(int file, uint64_t begin, uint64_t end) {
    const auto from = static_cast<off_t>(begin);
    const auto length = static_cast<off_t>(end - begin);
    const int error = uninterrupted([&] { return fallocate(file, 0, from, length); });
    if (error != EOPNOTSUPP) {
        return error;
    }
    // File systems without fallocate: posix_fallocate writes the blocks.
    return uninterrupted([&] {
        errno = posix_fallocate(file, from, length);
        return errno == 0 ? 0 : -1;
    });
}

bool is_no_room(int error) {
    return error == ENOSPC || error == EFBIG || error == EDQUOT;
}

}  // namespace

// Note [A file without a descriptor]
// The program may close an open descriptor, dup2 over it, or run out of descriptors. So we open the
// file by its name at each use, with a separate table of descriptors (Note [Own descriptors]), and
// use it only if it is the file that we made: the same device and inode. The first page stays
// mapped. The mapping keeps the open file, and with it the lock that readers test, until the
// process ends in any way.

// Note [Replacing a trace]
// Another process may still write the old file, which it has mapped: cutting that file would end
// its recording. So the new file is made beside it and renamed over it; the old one lives on until
// its writer ends.
bool FileTarget::create(const char* path,
                        const format::Superblock& superblock,
                        Exists exists,
                        mode_t mode) {
    char beside[PATH_MAX];
    if (!set_path(path) ||
        snprintf(beside, sizeof beside, "%s.%d.part", path_, getpid()) >= int{sizeof beside}) {
        error_ = errno = ENAMETOOLONG;
        return false;
    }
    page_guard::begin();
    int error = 0;
    const int begun = with_own_descriptors([&] {
        if (exists == Exists::kFail) {
            error = create_slow(path_, superblock, mode);
            return;
        }
        unlink(beside);  // only we use this name: left by a process that has ended
        error = create_slow(beside, superblock, mode);
        if (error == 0 && rename(beside, path_) != 0) {
            error = errno;
            unlink(beside);
        }
    });
    error_ = begun != 0 ? begun : error;
    if (error_ != 0) {
        abandon();
    }
    return error_ == 0;
}

bool FileTarget::set_path(const char* path) {
    size_t length = 0;
    if (path[0] != '/') {
        if (getcwd(path_, sizeof path_ - 1) == nullptr) {
            return false;
        }
        length = strlen(path_);
        path_[length++] = '/';
    }
    const size_t rest = strlen(path);
    if (length + rest >= sizeof path_) {
        return false;
    }
    memcpy(path_ + length, path, rest + 1);
    return true;
}

int FileTarget::create_slow(const char* path, const format::Superblock& superblock, mode_t mode) {
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_EXCL, kPrivate);
    if (file < 0) {
        return errno;
    }
    const bool is_wanted_so = mode == kPrivate || fchmod(file, mode) == 0;
    const int error = is_wanted_so ? fill_new_slow(file, superblock) : errno;
    if (error != 0) {
        unlink(path);
    }
    close(file);
    return error;
}

int FileTarget::fill_new_slow(int file, const format::Superblock& superblock) {
    struct stat status {};
    if (fstat(file, &status) != 0) {
        return errno;
    }
    device_ = status.st_dev;
    inode_ = status.st_ino;
    // Readers test this lock to see whether a trace is still being written. The kernel releases it
    // at any end of the process. Without it (some network file systems) they cannot know.
    static_cast<void>(flock(file, LOCK_EX | LOCK_NB));
    unsigned char page[format::kSuperblockBytes] = {};
    std::memcpy(page, &superblock, sizeof superblock);
    int error = write_all(file, page, sizeof page);
    allocated_bytes_ = sizeof page;
    if (error == 0) {
        error = allocate_slow(file, chunk_offset(1));
    }
    void* first = error == 0 ? mmap(nullptr, sizeof page, PROT_READ, MAP_SHARED, file, 0) : nullptr;
    if (first == MAP_FAILED) {
        return errno;
    }
    if (error == 0) {
        first_page_ = first;
        madvise(first_page_, sizeof page, MADV_DONTFORK);  // a child would hold the lock
    }
    return error;
}

// Allocates more than the next chunk needs; only that chunk if the file system has no more room.
int FileTarget::allocate_slow(int file, uint64_t end_bytes) {
    const uint64_t wanted = std::max(end_bytes, allocated_bytes_ + kGrowBytes);
    for (const uint64_t end : {wanted, end_bytes}) {
        const int error = preallocate_slow(file, allocated_bytes_, end);
        if (error == 0) {
            allocated_bytes_ = end;
        }
        if (!is_no_room(error)) {
            return error;
        }
        errno = error;
    }
    return errno;
}

bool FileTarget::is_own(const struct stat& status) const {
    return status.st_dev == device_ && status.st_ino == inode_ && S_ISREG(status.st_mode);
}

FileTarget::Loss FileTarget::loss() const {
    struct stat status {};
    if (!is_open()) {
        return Loss::kNone;
    }
    // A file without a name may have been truncated, too, but nobody can read it then.
    if (lstat(path_, &status) != 0 || !is_own(status)) {
        return Loss::kMoved;
    }
    const bool is_short = static_cast<uint64_t>(status.st_size) < allocated_bytes_;
    return is_short || page_guard::is_lost() ? Loss::kTruncated : Loss::kNone;
}

// Checks the file before it opens it: another file could be a pipe or a device. Returns a
// descriptor, or minus an errno: ESTALE if the file is not ours, or not complete.
int FileTarget::open_own_slow() const {
    struct stat status {};
    if (lstat(path_, &status) != 0) {
        return -errno;
    }
    if (!is_own(status)) {
        return -ESTALE;
    }
    const int file = open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        return -errno;
    }
    if (fstat(file, &status) != 0 || !is_own(status) ||
        static_cast<uint64_t>(status.st_size) < allocated_bytes_) {
        close(file);
        return -ESTALE;
    }
    return file;
}

template <class Work>
bool FileTarget::with_file(Work&& work) {
    if (page_guard::is_lost()) {
        error_ = ESTALE;
        return false;
    }
    int error = 0;
    const int begun = with_own_descriptors([&] {
        const int file = open_own_slow();
        if (file < 0) {
            error = -file;
            return;
        }
        error = work(file);
        close(file);
    });
    error_ = begun != 0 ? begun : error;
    return error_ == 0;
}

int FileTarget::map_chunk_slow(int file, uint64_t index, void** chunk) {
    const uint64_t begin = chunk_offset(index);
    if (begin + format::kChunkBytes > allocated_bytes_) {
        const int error = allocate_slow(file, begin + format::kChunkBytes);
        if (error != 0) {
            return error;
        }
    }
    write_zeros_slow(file, begin);
    *chunk = mmap(nullptr,
                  format::kChunkBytes,
                  PROT_READ | PROT_WRITE,
                  MAP_SHARED,
                  file,
                  static_cast<off_t>(begin));
    return *chunk == MAP_FAILED ? errno : 0;
}

unsigned char* FileTarget::open_chunk_slow(uint64_t index) {
    void* chunk = nullptr;
    if (!with_file([&](int file) { return map_chunk_slow(file, index, &chunk); })) {
        return nullptr;
    }
    if (!page_guard::watch(chunk, format::kChunkBytes)) {
        munmap(chunk, format::kChunkBytes);
        error_ = ENOMEM;
        return nullptr;
    }
    // So later events do not fault. (MAP_POPULATE only makes pages of a file readable.) An older
    // kernel returns EINVAL, and events fault there.
    madvise(chunk, format::kChunkBytes, kPopulateWrite);
    // A child of fork must not write into its parent's file.
    madvise(chunk, format::kChunkBytes, MADV_DONTFORK);
    return static_cast<unsigned char*>(chunk);
}

void FileTarget::close_chunk(uint64_t, unsigned char* chunk) {
    page_guard::unwatch(chunk);
    munmap(chunk, format::kChunkBytes);
}

// Stores to a page and writes to it have one order: a reader of the file sees this write before any
// later store to the chunk.
void FileTarget::clear_chunk_slow(uint64_t index) {
    with_file([&](int file) {
        const unsigned char zeros[sizeof(format::ChunkHeader)] = {};
        const auto offset = static_cast<off_t>(chunk_offset(index));
        return uninterrupted([&] { return pwrite(file, zeros, sizeof zeros, offset); });
    });
}

void FileTarget::trim(uint64_t chunk_count, uint64_t last_chunk_bytes) {
    const uint64_t end =
        chunk_count == 0 ? chunk_offset(0) : chunk_offset(chunk_count - 1) + last_chunk_bytes;
    const bool is_cut = with_file([&](int file) {
        return uninterrupted([&] { return ftruncate(file, static_cast<off_t>(end)); });
    });
    if (is_cut) {
        allocated_bytes_ = end;
    }
}

void FileTarget::leave_to_parent() {
    first_page_ = nullptr;
    page_guard::end_in_child();
}

void FileTarget::abandon() {
    if (first_page_ != nullptr) {
        munmap(first_page_, format::kSuperblockBytes);
    }
    first_page_ = nullptr;
    page_guard::end();
}

}  // namespace peakline::record
