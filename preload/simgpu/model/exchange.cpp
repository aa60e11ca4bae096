// Keeps pieces by device address. Pieces never overlap; whatever touches one in part forgets it.

#include "model/exchange.h"

#include <cstring>
#include <iterator>
#include <utility>

namespace simgpu {
namespace {

constexpr size_t kMaxPieceBytes = 64u << 10;
constexpr size_t kMaxPieces = 4096;

}  // namespace

Exchange& Exchange::instance() {
    static auto* const exchange = new Exchange;
    return *exchange;
}

void Exchange::forget(uintptr_t start, size_t bytes) {
    auto piece = pieces_.lower_bound(start);
    if (piece != pieces_.begin()) {
        const auto previous = std::prev(piece);
        if (previous->first + previous->second.bytes.size() > start) {
            piece = previous;
        }
    }
    while (piece != pieces_.end() && piece->first < start + bytes) {
        piece = pieces_.erase(piece);
    }
}

void Exchange::note_upload(uintptr_t to, const void* from, size_t bytes) {
    forget(to, bytes);
    if (bytes > kMaxPieceBytes || pieces_.size() >= kMaxPieces) {
        return;
    }
    const auto* const start = static_cast<const unsigned char*>(from);
    pieces_[to] = {{start, start + bytes}, false};
}

void Exchange::copy_pieces(uintptr_t to, uintptr_t from, size_t bytes, bool mark_exchanged) {
    std::vector<std::pair<uintptr_t, Piece>> copies;
    for (auto piece = pieces_.lower_bound(from);
         piece != pieces_.end() && piece->first + piece->second.bytes.size() <= from + bytes;
         ++piece) {
        Piece copy = piece->second;
        copy.was_exchanged = copy.was_exchanged || mark_exchanged;
        copies.emplace_back(piece->first - from + to, std::move(copy));
    }
    forget(to, bytes);
    for (auto& [start, piece] : copies) {
        pieces_[start] = std::move(piece);
    }
}

void Exchange::note_device_copy(uintptr_t to, uintptr_t from, size_t bytes) {
    if (!pieces_.empty()) {
        copy_pieces(to, from, bytes, false);
    }
}

void Exchange::note_collective(uintptr_t to, uintptr_t from, size_t bytes) {
    if (!pieces_.empty()) {
        copy_pieces(to, from, bytes, true);
    }
}

void Exchange::read(void* to, uintptr_t from, size_t bytes) const {
    auto piece = pieces_.upper_bound(from);
    if (piece != pieces_.begin()) {
        --piece;
    }
    for (; piece != pieces_.end() && piece->first < from + bytes; ++piece) {
        const auto& [start, held] = *piece;
        const uintptr_t end = start + held.bytes.size();
        const uintptr_t first = start > from ? start : from;
        const uintptr_t last = end < from + bytes ? end : from + bytes;
        if (held.was_exchanged && first < last) {
            std::memcpy(static_cast<char*>(to) + (first - from),
                        held.bytes.data() + (first - start),
                        last - first);
        }
    }
}

}  // namespace simgpu
