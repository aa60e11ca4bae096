// Where CPython keeps the attributes of objects and the variables of suspended functions: what the
// limited API does not tell without running code of the program or making new objects. Everything
// read here is checked first; what does not fit is not named. With the GIL.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

namespace peakline::pyhook {

// The version of the running interpreter: 11 of 3.11.
unsigned python_minor();

// The name of the attribute of `object` that is `value`, where both lie in the object itself:
// instance attributes without a dictionary, and slots. Empty: there is none.
std::string attribute_name(PyObject* object, PyObject* value);

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
// Whether these can be read: as stacks are, after the self-test of the layout.
bool knows_frames();
// The dictionaries with what threads keep for themselves (threading.local); borrowed.
std::vector<PyObject*> thread_dictionaries();

// Name and value of each variable that has one; values are borrowed. A cell stands for itself.
struct Variable {
    std::string name;
    PyObject* value;
};
std::vector<Variable> variables_of(const FrameView& frame);

// "train.py:30", of a running frame the line where it is, else where the function begins.
std::string place_of(const FrameView& frame);
// The function's name, and its whole file.
std::string function_of(PyObject* code);
std::string file_of(PyObject* code);

// The bytes that every object of this one's class has.
size_t basic_size_of(PyObject* object);

// The text of a string object, "" for anything else.
std::string text_of(PyObject* string);

}  // namespace peakline::pyhook
