// Reads variables of running and suspended functions from CPython's frames, as object_layout.h
// reads attributes. Needs the GIL.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

namespace peakline::pyhook {

// A frame with readable variables: of a generator, a frame object, a running function.
struct FrameView {
    PyObject* code = nullptr;  // borrowed; nullptr: unreadable
    const uint64_t* locals = nullptr;
    uint64_t position = 0;  // as in RawFrame
};
FrameView frame_of_object(PyObject* frame);
FrameView frame_of_generator(PyObject* generator);
// The running frames of all threads, including this one, innermost first.
std::vector<FrameView> running_frames();
// Sets a running function to read again while it returns: it is then no longer a running frame, but
// its variables still exist. A later call replaces it.
void await_return(PyObject* frame);
// Whether it is returning now, and the finalizer of its frame object has led to this call.
bool is_returning();
// Whether frames can be read: like stacks, after the self-test of the layout.
bool knows_frames();
// The dictionaries of thread-local data (threading.local); borrowed.
std::vector<PyObject*> thread_dictionaries();

// A number of a code object, such as "co_argcount"; 0 if it is missing.
long number_of(PyObject* code, const char* which);

// Name and value of each variable that has a value; values are borrowed. Cells are returned as they
// are.
struct Variable {
    std::string name;
    PyObject* value;
};
std::vector<Variable> variables_of(const FrameView& frame);

// "train.py:30": the current line of a running frame, else the first line of the function.
std::string location_of(const FrameView& frame);
// The function's name, and the full path of its file.
std::string function_of(PyObject* code);
std::string file_of(PyObject* code);

}  // namespace peakline::pyhook
