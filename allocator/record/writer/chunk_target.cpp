#include "chunk_target.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace peakline::record {
namespace {

constexpr uint64_t kGrowBytes = uint64_t{4} << 20;
constexpr size_t kMemoryTraceCapacity = size_t{1} << 32;
constexpr size_t kPageBytes = 4096;
constexpr size_t kChunkPages = format::kChunkBytes / kPageBytes;
// Of <linux/mman.h> since Linux 5.14; older C libraries do not name it.
constexpr int kPopulateWrite = 23;

uint64_t chunk_offset(uint64_t index) {
    return format::kSuperblockBytes + index * format::kChunkBytes;
}

bool write_all(int descriptor, const void* bytes, size_t length) {
    const auto* from = static_cast<const char*>(bytes);
    while (length > 0) {
        const ssize_t written = write(descriptor, from, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        from += written;
        length -= static_cast<size_t>(written);
    }
    return true;
}

// Zeros, in one call. The kernel then has all pages of the chunk at once, in large folios where the
// file system has them: a quarter of what it takes when each page's first write faults. What cannot
// be written is left to those faults: the blocks are there.
void write_zeros_slow(int descriptor, uint64_t offset) {
    static const std::array<unsigned char, kPageBytes> zeros = {};
    std::array<iovec, kChunkPages> pages = {};
    pages.fill({const_cast<unsigned char*>(zeros.data()), kPageBytes});
    while (pwritev(descriptor, pages.data(), kChunkPages, static_cast<off_t>(offset)) < 0 &&
           errno == EINTR) {
    }
}

}  // namespace

// Note [Replacing a trace]
// Another process may still write the old file, which it has mapped: cutting that file would end
// the process with SIGBUS. So the new file is made beside it and renamed over it; the old one lives
// on until its writer ends.
bool FileTarget::create(const char* path, const format::Superblock& superblock, Exists exists) {
    if (exists == Exists::kFail) {
        return create_new(path, superblock);
    }
    char beside[PATH_MAX];
    const int length = snprintf(beside, sizeof beside, "%s.%d.part", path, getpid());
    if (length < 0 || static_cast<size_t>(length) >= sizeof beside) {
        error_ = ENAMETOOLONG;
        return false;
    }
    // Ours alone by its name: what lies there was left by a process that is gone.
    unlink(beside);
    if (!create_new(beside, superblock)) {
        return false;
    }
    if (rename(beside, path) != 0) {
        error_ = errno;
        unlink(beside);
        abandon();
        return false;
    }
    return true;
}

bool FileTarget::create_new(const char* path, const format::Superblock& superblock) {
    descriptor_ = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_EXCL, 0644);
    if (descriptor_ < 0) {
        error_ = errno;
        return false;
    }
    // Readers ask for this lock to learn whether a trace is still being written. The kernel
    // releases it when the process ends, however it ends. Without it (some network file systems)
    // they do not know.
    static_cast<void>(flock(descriptor_, LOCK_EX | LOCK_NB));
    unsigned char page[format::kSuperblockBytes] = {};
    std::memcpy(page, &superblock, sizeof superblock);
    if (!write_all(descriptor_, page, sizeof page) ||
        !allocate_slow(chunk_offset(0) + kGrowBytes)) {
        error_ = errno != 0 ? errno : EIO;
        unlink(path);
        abandon();
        return false;
    }
    return true;
}

bool FileTarget::is_lost() const {
    struct stat status = {};
    return descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && status.st_nlink == 0;
}

bool FileTarget::allocate_slow(uint64_t end_bytes) {
    const uint64_t begin = std::max<uint64_t>(allocated_bytes_, format::kSuperblockBytes);
    const auto length = static_cast<off_t>(end_bytes - begin);
    int result = fallocate(descriptor_, 0, static_cast<off_t>(begin), length);
    if (result != 0 && errno == EOPNOTSUPP) {
        // File systems without fallocate: posix_fallocate writes the blocks.
        errno = posix_fallocate(descriptor_, static_cast<off_t>(begin), length);
        result = errno;
    }
    if (result != 0) {
        return false;
    }
    allocated_bytes_ = end_bytes;
    return true;
}

unsigned char* FileTarget::open_chunk_slow(uint64_t index) {
    const uint64_t begin = chunk_offset(index);
    if (begin + format::kChunkBytes > allocated_bytes_ &&
        !allocate_slow(std::max(begin + format::kChunkBytes, allocated_bytes_ + kGrowBytes))) {
        error_ = errno;
        return nullptr;
    }
    write_zeros_slow(descriptor_, begin);
    void* chunk = mmap(nullptr,
                       format::kChunkBytes,
                       PROT_READ | PROT_WRITE,
                       MAP_SHARED,
                       descriptor_,
                       static_cast<off_t>(begin));
    if (chunk == MAP_FAILED) {
        error_ = errno;
        return nullptr;
    }
    // The events that come do not fault. (MAP_POPULATE makes pages of a file readable only.) An
    // older kernel says EINVAL: there they do.
    madvise(chunk, format::kChunkBytes, kPopulateWrite);
    // A child of fork must not write into its parent's file.
    madvise(chunk, format::kChunkBytes, MADV_DONTFORK);
    return static_cast<unsigned char*>(chunk);
}

void FileTarget::close_chunk(uint64_t, unsigned char* chunk) {
    munmap(chunk, format::kChunkBytes);
}

// The order of stores to a page and of writes to it is one order: who reads the file sees this
// before anything written to the chunk later.
void FileTarget::clear_chunk_slow(uint64_t index) {
    const unsigned char zeros[sizeof(format::ChunkHeader)] = {};
    while (pwrite(descriptor_, zeros, sizeof zeros, static_cast<off_t>(chunk_offset(index))) < 0 &&
           errno == EINTR) {
    }
}

void FileTarget::trim(uint64_t chunk_count, uint64_t last_chunk_bytes) {
    const uint64_t end =
        chunk_count == 0 ? chunk_offset(0) : chunk_offset(chunk_count - 1) + last_chunk_bytes;
    if (ftruncate(descriptor_, static_cast<off_t>(end)) == 0) {
        allocated_bytes_ = end;
    }
}

void FileTarget::abandon() {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
    descriptor_ = -1;
    allocated_bytes_ = 0;
}

bool MemoryTarget::create(const format::Superblock& superblock) {
    if (!bytes_.reserve(kMemoryTraceCapacity) ||
        !bytes_.resize_untouched(format::kSuperblockBytes)) {
        error_ = ENOMEM;
        return false;
    }
    std::memcpy(bytes_.data(), &superblock, sizeof superblock);
    return true;
}

unsigned char* MemoryTarget::open_chunk_slow(uint64_t index) {
    const size_t end = std::max<size_t>(chunk_offset(index + 1), bytes_.size());
    if (!bytes_.resize_untouched(end)) {
        error_ = ENOMEM;
        return nullptr;
    }
    return bytes_.data() + chunk_offset(index);
}

void MemoryTarget::clear_chunk_slow(uint64_t index) {
    std::memset(bytes_.data() + chunk_offset(index), 0, sizeof(format::ChunkHeader));
}

}  // namespace peakline::record
