// dl_iterate_phdr with signals blocked. Its lock is recursive, but the same thread cannot take it
// again in the middle of taking or releasing it: the handler of a sampling profiler that unwinds
// the interrupted thread would wait forever.
#pragma once

#include <link.h>

#include "allocator/record/tables/signals_blocked.h"

namespace peakline::capture {

inline void walk_loaded_objects_slow(int (*visit)(dl_phdr_info*, size_t, void*), void* data) {
    const record::SignalsBlocked blocked;
    dl_iterate_phdr(visit, data);
}

}  // namespace peakline::capture
