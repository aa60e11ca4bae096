// Stores pieces by device address.

#include "model/values/contents.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "model/values/operation.h"

namespace simgpu {
namespace {

constexpr size_t kMaxSmallBytes = 64u << 20;  // all pieces together

// All pieces share it: a training step fills hundreds of tensors, and copies would evict its
// caches.
std::shared_ptr<Content>* make_shared_content(unsigned char value, bool is_exact) {
    auto content = std::make_shared<Content>();
    content->bytes.resize(kMaxKnownBytes, value);
    content->is_exact = is_exact;
    return new std::shared_ptr<Content>(std::move(content));
}

const std::shared_ptr<Content>& zeros() {
    static const auto* const shared = make_shared_content(0, true);
    return *shared;
}

const std::shared_ptr<Content>& true_flags() {
    static const auto* const shared = make_shared_content(1, false);
    return *shared;
}

}  // namespace

Contents& Contents::instance() {
    static auto* const contents = new Contents;
    return *contents;
}

bool Contents::is_readable(const Piece& piece) const {
    const Content& content = *piece.content;
    if (content.bytes.empty()) {
        return false;
    }
    return content.operation != nullptr
               ? content.operation->is_done
               : uploads_are_trusted_ || piece.launch_count == launch_count_;
}

std::vector<Contents::Overlap> Contents::overlaps(uintptr_t start, size_t bytes) const {
    std::vector<Overlap> found;
    auto piece = pieces_.upper_bound(start);
    if (piece != pieces_.begin()) {
        --piece;
    }
    for (; piece != pieces_.end() && piece->first < start + bytes; ++piece) {
        const uintptr_t first = std::max(start, piece->first);
        const uintptr_t last = std::min(start + bytes, piece->first + piece->second.bytes);
        if (first < last) {
            found.push_back({first,
                             last - first,
                             &piece->second,
                             piece->second.offset_bytes + (first - piece->first)});
        }
    }
    return found;
}

void Contents::add(uintptr_t start, Piece piece) {
    if (piece.bytes == 0) {
        return;
    }
    bytes_[kind_of(piece)] += piece.bytes;
    pieces_[start] = std::move(piece);
}

void Contents::forget(uintptr_t start, size_t bytes) {
    if (pieces_.empty()) {
        return;
    }
    auto after = pieces_.upper_bound(start);
    if (after != pieces_.begin()) {
        --after;
    }
    while (after != pieces_.end() && after->first < start + bytes) {
        const auto [piece_start, piece] = *after;
        const uintptr_t piece_end = piece_start + piece.bytes;
        if (piece_end <= start) {
            ++after;
            continue;
        }
        bytes_[kind_of(piece)] -= piece.bytes;
        after = pieces_.erase(after);
        if (piece_start < start) {
            add(piece_start, piece.part(0, start - piece_start));
        }
        if (piece_end > start + bytes) {
            const size_t cut_bytes = start + bytes - piece_start;
            add(start + bytes, piece.part(cut_bytes, piece.bytes - cut_bytes));
        }
    }
}

void Contents::begin_block(uintptr_t start, size_t bytes) {
    release(start, bytes);
    blocks_[start] = bytes;
}

void Contents::release(uintptr_t start, size_t bytes) {
    forget(start, bytes);
    auto block = blocks_.upper_bound(start);
    if (block != blocks_.begin()) {
        --block;
    }
    while (block != blocks_.end() && block->first < start + bytes) {
        const bool overlaps = block->first + block->second > start;
        block = overlaps ? blocks_.erase(block) : std::next(block);
    }
}

uintptr_t Contents::block_end(uintptr_t address) const {
    const auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) {
        return 0;
    }
    const auto& [start, bytes] = *std::prev(after);
    return address < start + bytes ? start + bytes : 0;
}

void Contents::forget_pointed_at(uintptr_t address) {
    if (const uintptr_t end = block_end(address); end != 0) {
        forget(address, end - address);
        return;
    }
    auto piece = pieces_.upper_bound(address);
    if (piece == pieces_.begin()) {
        return;
    }
    --piece;
    // Adjacent pieces may belong to the same tensor: its end is unknown.
    for (uintptr_t next = address;
         piece != pieces_.end() && next < piece->first + piece->second.bytes;
         piece = pieces_.erase(piece)) {
        if (piece->first > next) {
            return;
        }
        next = piece->first + piece->second.bytes;
        bytes_[kind_of(piece->second)] -= piece->second.bytes;
    }
}

Contents::Kind Contents::kind_of(const Piece& piece) {
    if (piece.content == zeros() || piece.content == true_flags()) {
        return kShared;
    }
    return piece.content->bytes.size() > kMaxKnownBytes ? kLarge : kSmall;
}

void Contents::make_room(uintptr_t to, size_t bytes) {
    forget(to, bytes);
    if (bytes_[kSmall] > kMaxSmallBytes) {
        forget_all_of(kSmall);
    }
    if (bytes_[kLarge] > max_large_bytes_) {
        forget_all_of(kLarge);
    }
}

void Contents::forget_all_of(Kind kind) {
    std::erase_if(pieces_, [kind](const auto& one) { return kind_of(one.second) == kind; });
    bytes_[kind] = 0;
}

void Contents::note_upload(uintptr_t to, const void* from, size_t bytes) {
    if (bytes > kMaxKnownBytes) {
        forget(to, bytes);
    } else {
        note(to, from, bytes, Content{});
    }
}

void Contents::note_computed(uintptr_t to, const void* from, size_t bytes, const Content& kind) {
    if (bytes > std::max(kMaxKnownBytes, max_large_bytes_)) {
        forget(to, bytes);
    } else {
        note(to, from, bytes, kind);
    }
}

void Contents::note(uintptr_t to, const void* from, size_t bytes, const Content& kind) {
    make_room(to, bytes);
    const auto* const start = static_cast<const unsigned char*>(from);
    auto content = std::make_shared<Content>();
    content->bytes.assign(start, start + bytes);
    content->is_exact = kind.is_exact;
    content->is_chosen = kind.is_chosen;
    add(to, {std::move(content), 0, bytes, launch_count_});
}

void Contents::note_zeros(uintptr_t to, size_t bytes) {
    note_repeated(to, bytes, zeros());
}

void Contents::note_true(uintptr_t to, size_t bytes) {
    note_repeated(to, bytes, true_flags());
}

void Contents::note_repeated(uintptr_t to, size_t bytes, const std::shared_ptr<Content>& content) {
    make_room(to, bytes);
    for (size_t done = 0; done < bytes; done += kMaxKnownBytes) {
        add(to + done, {content, 0, std::min(bytes - done, kMaxKnownBytes), launch_count_});
    }
}

void Contents::note_copy(uintptr_t to, uintptr_t from, size_t bytes) {
    if (pieces_.empty()) {
        return;
    }
    std::vector<std::pair<uintptr_t, Piece>> copies;
    for (const Overlap& overlap : overlaps(from, bytes)) {
        const Piece& piece = *overlap.piece;
        copies.emplace_back(overlap.start - from + to,
                            piece.part(overlap.offset_bytes - piece.offset_bytes, overlap.bytes));
    }
    forget(to, bytes);
    for (auto& [start, piece] : copies) {
        add(start, std::move(piece));
    }
}

void Contents::promise(uintptr_t to, size_t bytes, std::shared_ptr<Content> content) {
    has_promised_ = true;
    forget(to, bytes);
    add(to, {std::move(content), 0, bytes, launch_count_});
}

void Contents::forget_all() {
    pieces_.clear();
    bytes_ = {};
}

Contents::Known Contents::read(void* to, uintptr_t from, size_t bytes) const {
    Known known;
    for (const Overlap& overlap : overlaps(from, bytes)) {
        const Content& content = *overlap.piece->content;
        if (is_readable(*overlap.piece)) {
            if (to != nullptr) {
                std::memcpy(static_cast<char*>(to) + (overlap.start - from),
                            content.bytes.data() + overlap.offset_bytes,
                            overlap.bytes);
            }
            known.bytes += overlap.bytes;
            known.exact_bytes += content.is_exact ? overlap.bytes : 0;
        }
    }
    return known;
}

Contents::Origin Contents::origin(uintptr_t from, size_t bytes) const {
    Origin origin;
    size_t zero_bytes = 0;
    size_t true_bytes = 0;
    for (const Overlap& overlap : overlaps(from, bytes)) {
        const std::shared_ptr<Content>& content = overlap.piece->content;
        const size_t readable_bytes = is_readable(*overlap.piece) ? overlap.bytes : 0;
        origin.is_chosen = origin.is_chosen || content->is_chosen;
        zero_bytes += content == zeros() ? readable_bytes : 0;
        true_bytes += content == true_flags() ? readable_bytes : 0;
    }
    origin.is_zero = zero_bytes == bytes;
    origin.is_true = true_bytes == bytes;
    return origin;
}

bool Contents::collect(uintptr_t from, size_t bytes, unsigned char* to) const {
    size_t known_bytes = 0;
    for (const Overlap& overlap : overlaps(from, bytes)) {
        const Content& content = *overlap.piece->content;
        if (!content.bytes.empty()) {
            std::memcpy(to + (overlap.start - from),
                        content.bytes.data() + overlap.offset_bytes,
                        overlap.bytes);
            known_bytes += overlap.bytes;
        }
    }
    return known_bytes == bytes;
}

std::vector<std::shared_ptr<Operation>> Contents::operations_into(uintptr_t start,
                                                                  size_t bytes) const {
    std::vector<std::shared_ptr<Operation>> found;
    for (const Overlap& overlap : overlaps(start, bytes)) {
        const auto& operation = overlap.piece->content->operation;
        if (operation != nullptr && !operation->is_done) {
            found.push_back(operation);
        }
    }
    return found;
}

}  // namespace simgpu
