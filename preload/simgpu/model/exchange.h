// Small uploads that a collective passed on. Device contents read as zero, with one exception: what
// the host wrote and a gather or broadcast then moved between ranks. Frameworks exchange shapes and
// counts that way and stop when they read zeros. Every rank is taken to have sent the same.
// The world's lock guards every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace simgpu {

class Exchange {
public:
    static Exchange& instance();

    // The host wrote to the device: small writes are kept, all forget what they overwrite.
    void note_upload(uintptr_t to, const void* from, size_t bytes);
    void note_device_copy(uintptr_t to, uintptr_t from, size_t bytes);
    void forget(uintptr_t start, size_t bytes);
    // A collective moved these bytes: they may be read from now on.
    void note_collective(uintptr_t to, uintptr_t from, size_t bytes);
    // Fills in what a collective passed on; the rest of `to` is left alone.
    void read(void* to, uintptr_t from, size_t bytes) const;

private:
    struct Piece {
        std::vector<unsigned char> bytes;
        bool was_exchanged = false;
    };
    // Whole pieces inside the range, copied to another place.
    void copy_pieces(uintptr_t to, uintptr_t from, size_t bytes, bool mark_exchanged);

    std::map<uintptr_t, Piece> pieces_;
};

}  // namespace simgpu
