// Where CPython keeps the attributes of objects: what the limited API does not report without
// running code of the program or making new objects. Everything read here is checked first; what
// does not fit is not named. With the GIL.
#pragma once

#include <Python.h>

#include <string>

namespace peakline::pyhook {

// The version of the running interpreter: 11 of 3.11.
unsigned python_minor();

// The name of the attribute of `object` that is `value`, where both lie in the object itself:
// instance attributes without a dictionary, and slots. Empty: there is none.
std::string attribute_name(PyObject* object, PyObject* value);

// The bytes that every object of this one's class has.
size_t basic_size_of(PyObject* object);

// The text of a string object, "" for anything else.
std::string text_of(PyObject* string);

}  // namespace peakline::pyhook
