// The bytes of a trace: a file, or memory that outlives this object, packed or not. Used by the
// reader only.
//
// A file is read piece by piece with pread, not mapped. If someone cut a mapped file while we read,
// the reader would end with SIGBUS. A copied chunk cannot change between check and use, and memory
// stays at one chunk for any length of trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "packed_file.h"

namespace peakline::report {

class ByteSource {
public:
    // Throws TraceError when there is no readable regular file at `path`.
    static ByteSource open_file(const std::string& path);
    static ByteSource borrow(std::string name, std::span<const unsigned char> bytes);

    ByteSource(ByteSource&& other) noexcept;
    ByteSource& operator=(ByteSource&&) = delete;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;
    ~ByteSource();

    // The name used in messages.
    const std::string& name() const { return name_; }
    // Unpacked size of the trace.
    uint64_t size_bytes() const { return packed_ ? packed_->size_bytes() : size_bytes_; }

    // Updates the size of a growing file.
    void find_size();
    // Reads bytes from the file descriptor `copy` from now on, and closes it in the destructor.
    // Size and other properties stay those of the original file.
    void read_instead(int copy);

    bool is_packed() const { return packed_ != nullptr; }
    // Whether a recorder had the file open when we opened it.
    bool is_being_written() const { return is_being_written_; }

    // Returns `count` bytes at `offset`, fewer at the end. They lie in `scratch` or in the
    // borrowed memory and are valid until `scratch` changes. Throws TraceError on a read error.
    std::span<const unsigned char> read(uint64_t offset,
                                        size_t count,
                                        std::vector<unsigned char>& scratch) const;

private:
    ByteSource() = default;
    // Detects a packed trace; called once the bytes can be read.
    void find_packed();
    ReadBytes reads_stored() const;
    std::span<const unsigned char> read_stored(uint64_t offset,
                                               size_t count,
                                               std::vector<unsigned char>& scratch) const;

    std::string name_;
    uint64_t size_bytes_ = 0;
    int file_descriptor_ = -1;
    bool is_being_written_ = false;
    std::span<const unsigned char> memory_;
    std::unique_ptr<PackedFile> packed_;
};

}  // namespace peakline::report
