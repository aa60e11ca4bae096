// What device memory is known to hold. Kernels compute nothing, so device memory reads as zero,
// with three exceptions: what the host uploaded, until a kernel may have written it, what a
// collective delivered, and what the values companion computed (driver/companion.h). Frameworks
// exchange shapes, sizes and objects that way. See Note [Known contents] in
// memory/launch_effects.h. The world's lock guards every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace simgpu {

struct Operation;

// Uploads and contributions above this size are not remembered.
inline constexpr size_t kMaxKnownBytes = 256u << 10;

struct Content {
    std::vector<unsigned char> bytes;      // empty: not known after all
    std::shared_ptr<Operation> operation;  // the collective that delivers it, if one does
    bool is_exact = true;                  // false: computed from values that were taken as zero
};

class Contents {
public:
    static Contents& instance();

    void note_upload(uintptr_t to, const void* from, size_t bytes) { note(to, from, bytes, true); }
    // As an upload; is_exact as in Content.
    void note(uintptr_t to, const void* from, size_t bytes, bool is_exact);
    void note_zeros(uintptr_t to, size_t bytes);
    void note_copy(uintptr_t to, uintptr_t from, size_t bytes);
    // A collective will deliver this content here.
    void promise(uintptr_t to, size_t bytes, std::shared_ptr<Content> content);
    bool has_promised() const { return has_promised_; }
    void forget(uintptr_t start, size_t bytes);
    // A framework's allocator gave out this part of its memory: it is forgotten, and a pointer into
    // it means no more than it.
    void begin_block(uintptr_t start, size_t bytes);
    // The memory is no longer the program's.
    void release(uintptr_t start, size_t bytes);

    void count_launch() { ++launch_count_; }
    bool is_empty() const { return pieces_.empty(); }
    // The rest of the block that holds this address; of memory without known blocks, all that is
    // known from there on without a gap.
    void forget_pointed_at(uintptr_t address);
    void forget_all();

    // From now on someone reports what every operator writes, so uploads outlive launches.
    void trust_uploads() { uploads_are_trusted_ = true; }

    struct Known {
        size_t bytes = 0;        // of the range; the others are taken as zero
        size_t exact_bytes = 0;  // of these
    };
    // Fills in what the host may see; the rest of `to` is left alone.
    Known read(void* to, uintptr_t from, size_t bytes) const;
    // What a collective sends. False when a byte of the range is not known.
    bool collect(uintptr_t from, size_t bytes, unsigned char* to) const;
    // The unfinished collectives that deliver into this range.
    std::vector<std::shared_ptr<Operation>> operations_into(uintptr_t start, size_t bytes) const;

private:
    struct Piece {
        std::shared_ptr<Content> content;
        size_t offset_bytes = 0;  // in the content
        size_t bytes = 0;
        uint64_t launch_count = 0;  // of all launches, when the host uploaded it

        // `start_bytes`: in this piece.
        Piece part(size_t start_bytes, size_t part_bytes) const {
            return {content, offset_bytes + start_bytes, part_bytes, launch_count};
        }
    };
    struct Overlap {
        uintptr_t start;
        size_t bytes;
        const Piece* piece;
        size_t offset_bytes;  // in the content
    };
    bool is_readable(const Piece& piece) const;
    std::vector<Overlap> overlaps(uintptr_t start, size_t bytes) const;
    void add(uintptr_t start, Piece piece);
    // Forgets what was here. False: too much to be remembered.
    bool make_room(uintptr_t to, size_t bytes);
    // The end of the block that holds this address; 0: none is known.
    uintptr_t block_end(uintptr_t address) const;

    std::map<uintptr_t, Piece> pieces_;  // by device address, never overlapping
    size_t piece_bytes_ = 0;
    std::map<uintptr_t, size_t> blocks_;  // begun last, never overlapping; some were freed
    uint64_t launch_count_ = 0;
    bool uploads_are_trusted_ = false;
    bool has_promised_ = false;
};

}  // namespace simgpu
