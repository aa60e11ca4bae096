// Opens and reads a trace file. Errors state the next step.
#include "byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace_error.h"

namespace peakline::report {
namespace {

[[noreturn]] void throw_errno(const std::string& path, const std::string& action) {
    const int error = errno;
    std::string message = path + ": " + action + ": " + std::strerror(error);
    if (error == ENOENT) {
        message += "; check the path, or record one with: peakline run SCRIPT";
    }
    throw TraceError(message);
}

// The recorder holds a lock on its file as long as it lives. We release ours at once, so that the
// next reader can check, too.
bool is_locked(int descriptor) {
    if (flock(descriptor, LOCK_SH | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK;
    }
    flock(descriptor, LOCK_UN);
    return false;
}

}  // namespace

ByteSource ByteSource::open_file(const std::string& path) {
    ByteSource source;
    source.name_ = path;
    // O_NONBLOCK: opening a named pipe without a writer must not hang.
    source.file_descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (source.file_descriptor_ < 0) {
        throw_errno(path, "cannot open the trace");
    }
    struct stat status = {};
    if (fstat(source.file_descriptor_, &status) != 0) {
        throw_errno(path, "cannot examine the trace");
    }
    if (S_ISDIR(status.st_mode)) {
        throw TraceError(path + ": is a directory; name the trace file inside it");
    }
    if (!S_ISREG(status.st_mode)) {
        throw TraceError(path + ": is not a regular file; copy the trace to a file first");
    }
    source.size_bytes_ = static_cast<uint64_t>(status.st_size);
    source.is_being_written_ = is_locked(source.file_descriptor_);
    source.find_packed();
    return source;
}

ByteSource ByteSource::borrow(std::string name, std::span<const unsigned char> bytes) {
    ByteSource source;
    source.name_ = std::move(name);
    source.size_bytes_ = bytes.size();
    source.memory_ = bytes;
    source.find_packed();
    return source;
}

ByteSource::ByteSource(ByteSource&& other) noexcept
    : name_(std::move(other.name_)),
      size_bytes_(other.size_bytes_),
      file_descriptor_(std::exchange(other.file_descriptor_, -1)),
      is_being_written_(other.is_being_written_),
      memory_(other.memory_),
      packed_(std::move(other.packed_)) {}

ByteSource::~ByteSource() {
    if (file_descriptor_ >= 0) {
        close(file_descriptor_);
    }
}

void ByteSource::find_size() {
    struct stat status = {};
    if (fstat(file_descriptor_, &status) == 0) {
        size_bytes_ = static_cast<uint64_t>(status.st_size);
    }
}

void ByteSource::read_instead(int copy) {
    close(std::exchange(file_descriptor_, copy));
}

void ByteSource::find_packed() {
    std::vector<unsigned char> scratch;
    if (looks_packed(read_stored(0, 4, scratch))) {
        packed_ = std::make_unique<PackedFile>(name_, size_bytes_, reads_stored());
    }
}

ReadBytes ByteSource::reads_stored() const {
    return [this](uint64_t offset, size_t count, std::vector<unsigned char>& scratch) {
        return read_stored(offset, count, scratch);
    };
}

std::span<const unsigned char> ByteSource::read(uint64_t offset,
                                                size_t count,
                                                std::vector<unsigned char>& scratch) const {
    return packed_ ? packed_->read(offset, count, scratch, reads_stored())
                   : read_stored(offset, count, scratch);
}

std::span<const unsigned char> ByteSource::read_stored(uint64_t offset,
                                                       size_t count,
                                                       std::vector<unsigned char>& scratch) const {
    if (offset >= size_bytes_) {
        return {};
    }
    count = static_cast<size_t>(std::min<uint64_t>(count, size_bytes_ - offset));
    if (file_descriptor_ < 0) {
        return memory_.subspan(static_cast<size_t>(offset), count);
    }
    if (scratch.size() < count) {
        scratch.resize(count);
    }
    size_t done = 0;
    while (done < count) {
        const ssize_t got = pread(file_descriptor_,
                                  scratch.data() + done,
                                  count - done,
                                  static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            throw_errno(name_, "cannot read at byte " + std::to_string(offset + done));
        }
        if (got == 0) {
            break;
        }
        done += static_cast<size_t>(got);
    }
    return {scratch.data(), done};
}

}  // namespace peakline::report
