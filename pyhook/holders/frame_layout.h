// Where CPython keeps the variables of running and suspended functions, as object_layout.h for
// attributes. With the GIL.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

namespace peakline::pyhook {

// A frame whose variables can be read: of a generator, a frame object, a running function.
struct FrameView {
    PyObject* code = nullptr;  // borrowed; nullptr: cannot be read
    const uint64_t* locals = nullptr;
    uint64_t position = 0;  // as RawFrame has it
};
FrameView frame_of_object(PyObject* frame);
FrameView frame_of_generator(PyObject* generator);
// Those of all threads that run Python now, the innermost first; of this thread also.
std::vector<FrameView> running_frames();
// A function that runs, to be read once more while it returns: it is none of the running ones then,
// and its variables are still there. A later call replaces it.
void await_return(PyObject* frame);
// Whether it returns just now, and has called this by way of a finalizer of its frame object.
bool is_returning();
// Whether these can be read: as stacks are, after the self-test of the layout.
bool knows_frames();
// The dictionaries with what threads keep for themselves (threading.local); borrowed.
std::vector<PyObject*> thread_dictionaries();

// A number of a code object, "co_argcount"; 0: there is none.
long number_of(PyObject* code, const char* which);

// Name and value of each variable that has one; values are borrowed. A cell stands for itself.
struct Variable {
    std::string name;
    PyObject* value;
};
std::vector<Variable> variables_of(const FrameView& frame);

// "train.py:30", of a running frame the line where it is, else where the function begins.
std::string location_of(const FrameView& frame);
// The function's name, and its whole file.
std::string function_of(PyObject* code);
std::string file_of(PyObject* code);

}  // namespace peakline::pyhook
