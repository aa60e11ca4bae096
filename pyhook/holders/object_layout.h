// Reads attributes of objects from CPython's memory, which the limited API cannot do without
// running code of the program or creating objects. Everything is checked before it is read; objects
// of another layout get no name. Needs the GIL.
#pragma once

#include <Python.h>

#include <string>

namespace peakline::pyhook {

// The name of the attribute of `object` with this value, for attributes inside the object: instance
// attributes without a dictionary, and slots. Empty if there is none.
std::string attribute_name(PyObject* object, PyObject* value);

// Size in bytes of an object of this class, without items.
size_t basic_size_of(PyObject* object);

// The text of a string object, "" for other objects.
std::string text_of(PyObject* string);

}  // namespace peakline::pyhook
