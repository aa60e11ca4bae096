// The known contents of device memory. Kernels compute nothing, so device memory reads as zero,
// with three exceptions: uploads of the host until a kernel may have overwritten them, data from
// collectives, and values computed by the companion (driver/companion.h). Frameworks exchange
// shapes, sizes and objects that way. See Note [Known contents] in memory/launch_effects.h. The
// world's lock guards every call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace simgpu {

struct Operation;

// Uploads and contributions above this size are not remembered; computed values are, if the
// companion asks for it.
inline constexpr size_t kMaxKnownBytes = 256u << 10;

struct Content {
    std::vector<unsigned char> bytes;      // empty: unknown after all
    std::shared_ptr<Operation> operation;  // the collective that delivers it, if any
    bool is_exact = true;                  // false: computed from values that were taken as zero
    bool is_chosen = false;                // the companion chose it, or computed it from a choice
};

class Contents {
public:
    static Contents& instance();

    void note_upload(uintptr_t to, const void* from, size_t bytes);
    // Notes values that the companion computed. Only `is_exact` and `is_chosen` of `kind` are read.
    void note_computed(uintptr_t to, const void* from, size_t bytes, const Content& kind);
    // Zeros, and bytes of 1 that are the result "true" of a check of unknown values. At any size.
    void note_zeros(uintptr_t to, size_t bytes);
    void note_true(uintptr_t to, size_t bytes);
    void note_copy(uintptr_t to, uintptr_t from, size_t bytes);
    // A collective will deliver this content to the address.
    void promise(uintptr_t to, size_t bytes, std::shared_ptr<Content> content);
    bool has_promised() const { return has_promised_; }
    void forget(uintptr_t start, size_t bytes);
    // A framework's allocator handed out this block. Its contents are forgotten, and a pointer into
    // it refers to this block only.
    void begin_block(uintptr_t start, size_t bytes);
    // Call when the program no longer owns the memory.
    void release(uintptr_t start, size_t bytes);

    void count_launch() { ++launch_count_; }
    bool is_empty() const { return pieces_.empty(); }
    // Forgets the rest of the block that contains this address. Without known blocks, forgets all
    // known contents from there up to the first gap.
    void forget_pointed_at(uintptr_t address);
    void forget_all();

    // From now on the companion reports the outputs of every operator, so uploads outlive launches.
    void trust_uploads() { uploads_are_trusted_ = true; }
    // From now on computed values above kMaxKnownBytes are remembered, too: `max_bytes` of them.
    void keep_large(size_t max_bytes) { max_large_bytes_ = max_bytes; }

    struct Known {
        size_t bytes = 0;        // known bytes of the range; the others read as zero
        size_t exact_bytes = 0;  // the exact ones of these
    };
    // Copies the contents that the host may see; leaves the rest of `to` unchanged. `to` is null:
    // it only counts.
    Known read(void* to, uintptr_t from, size_t bytes) const;
    struct Origin {
        bool is_chosen = false;  // some bytes of the range are
        bool is_zero = false;    // all bytes of the range were filled with zeros
        bool is_true = false;    // all bytes of the range are from note_true()
    };
    Origin origin(uintptr_t from, size_t bytes) const;
    // Collects the data that a collective sends. Returns false if a byte of the range is unknown.
    bool collect(uintptr_t from, size_t bytes, unsigned char* to) const;
    // The unfinished collectives that deliver into this range.
    std::vector<std::shared_ptr<Operation>> operations_into(uintptr_t start, size_t bytes) const;

private:
    struct Piece {
        std::shared_ptr<Content> content;
        size_t offset_bytes = 0;  // in the content
        size_t bytes = 0;
        uint64_t launch_count = 0;  // of all launches, at the time of the upload

        // `start_bytes`: offset in this piece.
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
    // Bytes are counted by kind: copies up to kMaxKnownBytes, larger ones, and contents that all
    // pieces share, which take no memory.
    enum Kind : size_t { kSmall, kLarge, kShared, kKindCount };
    static Kind kind_of(const Piece& piece);
    // Forgets old contents of the range; if too much is remembered of a kind, all of it.
    void make_room(uintptr_t to, size_t bytes);
    void forget_all_of(Kind kind);
    void note_repeated(uintptr_t to, size_t bytes, const std::shared_ptr<Content>& content);
    void note(uintptr_t to, const void* from, size_t bytes, const Content& kind);
    // The end of the block that contains this address; 0: no block is known.
    uintptr_t block_end(uintptr_t address) const;

    std::map<uintptr_t, Piece> pieces_;  // by device address, never overlapping
    std::array<size_t, kKindCount> bytes_ = {};
    std::map<uintptr_t, size_t> blocks_;  // latest blocks, never overlapping; some were freed
    uint64_t launch_count_ = 0;
    bool uploads_are_trusted_ = false;
    bool has_promised_ = false;
    size_t max_large_bytes_ = 0;
};

}  // namespace simgpu
