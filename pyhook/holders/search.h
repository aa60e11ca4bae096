// The search for what keeps blocks of memory alive, and its record in the trace.
//
// Note [Searching without a trace of it]
// The program sees nothing of a search. It makes no object that outlives it, takes no reference
// but for one list for the time of the call, runs no code of the program (no attribute look-up,
// comparison or hash of its classes), and leaves the garbage collector as it was: it is switched
// off meanwhile, since one list more could start it. It runs between two instructions of one
// thread, which keeps the GIL, so that other threads of Python stand still. The objects are walked
// with the functions that the collector uses itself (tp_traverse), the tensors of a graph are found
// in the memory of its nodes: see Note [Saved tensors].
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include "preload/peakline_api.h"

namespace peakline::pyhook {

struct SearchRequest {
    uint64_t time_ns = 0;  // it may take; then what is left is not searched
    // The largest blocks, parameters and what belongs to them last, and the oldest one of as many
    // lines that hold most, or that have grown most since remember_lines().
    size_t block_count = 0;
    uint32_t reason = 0;  // format::HoldReason
    uint32_t step = 0;
};

struct FoundPath {
    uint32_t kind;  // format::HolderKind
    std::string text;
};
struct BlockHolders {
    PeaklineLiveBlock block;
    std::vector<FoundPath> paths;  // the shortest first; none: not found
    uint32_t more_count = 0;       // that are not written out
};
struct SearchResult {
    std::vector<BlockHolders> blocks;  // the largest first
    PeaklineHolderSearch search = {};
    uint32_t number = 0;  // in the trace; 0: not written
};

// With the GIL, while the collector is off.
SearchResult search_holders(const SearchRequest& request);

// hold(seconds, block_count, reason, step): the search as a tuple, see _recorder.pyi.
PyObject* hold(PyObject*, PyObject* arguments);
// await_return(frame), is_returning(): see frame_layout.h; what that function holds is searched
// then.
PyObject* await_frame(PyObject*, PyObject* frame);
PyObject* is_frame_returning(PyObject*, PyObject*);
// remember_lines(): the search that comes next prefers lines that have grown since now.
PyObject* remember_lines(PyObject*, PyObject*);

}  // namespace peakline::pyhook
