#include "module_adoption.h"

#include "preload/peakline_api.h"

namespace peakline::pyhook {
namespace {

bool read_blocks(PyObject* list, std::vector<PeaklineHeldBlock>* blocks) {
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
        unsigned long long address = 0;
        unsigned long long requested = 0;
        unsigned long long size = 0;
        unsigned long long stream = 0;
        unsigned device = 0;
        int is_deferred = 0;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i),
                              "KKKKIp",
                              &address,
                              &requested,
                              &size,
                              &stream,
                              &device,
                              &is_deferred)) {
            return false;
        }
        blocks->push_back({address, requested, size, stream, device, is_deferred});
    }
    return true;
}

bool read_segments(PyObject* list, std::vector<PeaklineHeldSegment>* segments) {
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
        unsigned long long address = 0;
        unsigned long long size = 0;
        unsigned long long stream = 0;
        unsigned device = 0;
        int is_expandable = 0;
        if (!PyArg_ParseTuple(PyList_GetItem(list, i),
                              "KKKIp",
                              &address,
                              &size,
                              &stream,
                              &device,
                              &is_expandable)) {
            return false;
        }
        segments->push_back({address, size, stream, device, is_expandable});
    }
    return true;
}

}  // namespace

PyObject* adopt(PyObject*, PyObject* arguments) {
    PyObject* block_list = nullptr;
    PyObject* segment_list = nullptr;
    std::vector<PeaklineHeldBlock> blocks;
    std::vector<PeaklineHeldSegment> segments;
    if (!PyArg_ParseTuple(
            arguments, "O!O!", &PyList_Type, &block_list, &PyList_Type, &segment_list) ||
        !read_blocks(block_list, &blocks) || !read_segments(segment_list, &segments)) {
        return nullptr;
    }
    return PyLong_FromUnsignedLongLong(
        peakline_adopt(blocks.data(), blocks.size(), segments.data(), segments.size()));
}

}  // namespace peakline::pyhook
