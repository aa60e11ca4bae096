// Searches the holders of memory blocks, and records them in the trace.
//
// Note [Searching without a trace of it]
// The program notices nothing of a search. The search leaves no object behind, takes no reference
// except one list during the call, runs no code of the program (no attribute look-up, comparison or
// hash of its classes), and leaves the garbage collector as it was. The collector is off meanwhile,
// since one more list could start it. The search runs between two instructions of one thread, which
// keeps the GIL, so that other Python threads wait. It walks objects with the collector's own
// functions (tp_traverse), and finds the tensors of a graph in the memory of its nodes: see Note
// [Saved tensors].
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include "preload/peakline_api.h"

namespace peakline::pyhook {

struct SearchRequest {
    uint64_t time_ns = 0;  // limit; the search then stops
    // Searches the largest blocks (parameters and their kin last), and the oldest block of each of
    // as many lines: those that hold most, or that have grown most since remember_lines().
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
    std::vector<FoundPath> paths;  // the shortest first; empty: not found
    uint32_t more_count = 0;       // holders without a path here
};
struct SearchResult {
    std::vector<BlockHolders> blocks;  // the largest first
    PeaklineHolderSearch search = {};
    uint32_t number = 0;  // in the trace; 0: not recorded
};

// Needs the GIL, with the collector off.
SearchResult search_holders(const SearchRequest& request);

// hold(seconds, block_count, reason, step): returns the search as a tuple, see _recorder.pyi.
PyObject* hold(PyObject*, PyObject* arguments);
// await_return(frame), is_returning(): see frame_layout.h; the variables of that function are then
// searched.
PyObject* await_frame(PyObject*, PyObject* frame);
PyObject* is_frame_returning(PyObject*, PyObject*);
// remember_lines(): the next search prefers lines that have grown since this call.
PyObject* remember_lines(PyObject*, PyObject*);

}  // namespace peakline::pyhook
