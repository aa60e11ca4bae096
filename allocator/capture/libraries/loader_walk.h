// dl_iterate_phdr with signals held back. Its lock is recursive, and a recursive lock that is
// being taken or given back cannot be taken again: the handler of a sampling profiler that
// unwinds the thread it interrupted would wait for ever.
#pragma once

#include <link.h>

#include "allocator/record/tables/signals_blocked.h"

namespace peakline::capture {

inline void walk_loaded_objects_slow(int (*visit)(dl_phdr_info*, size_t, void*), void* data) {
    const record::SignalsBlocked blocked;
    dl_iterate_phdr(visit, data);
}

}  // namespace peakline::capture
