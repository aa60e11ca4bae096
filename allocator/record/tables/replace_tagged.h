// Replaces an entry of a thread while a signal handler of the same thread may read it. The tag
// names the owner, and is none during the replacement. So the handler finds the old entry, none, or
// the new one, never a tag with data of another.
#pragma once

#include <atomic>

namespace peakline::record {

// `write` fills in the rest of the entry. A Tag of zero is none.
template <class Tag, class Write>
[[gnu::always_inline]] inline void replace_tagged(Tag& tag, Tag value, Write write) {
    tag = Tag{};
    std::atomic_signal_fence(std::memory_order_release);
    write();
    std::atomic_signal_fence(std::memory_order_release);
    tag = value;
}

}  // namespace peakline::record
