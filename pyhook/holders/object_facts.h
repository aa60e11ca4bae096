// Facts about an object, and its index or name inside another one. Runs no code of the program.
// Needs the GIL; releases all Python objects that it creates.
#pragma once

#include <Python.h>

#include <string>

namespace peakline::pyhook {

// Whether the object is of exactly this CPython type, such as "PyCell_Type".
bool is_type(PyObject* object, const char* exported_name);
bool is_function(PyObject* object);
bool is_generator(PyObject* object);
// Whether its class is, or derives from, a class of an imported module.
bool is_derived_from(PyObject* object, const char* module, const char* name);

// An attribute of a function or code object, without a reference: only for comparison.
const void* attribute_address(PyObject* object, const char* name);
PyObject* code_of(PyObject* function);  // borrowed
// A name from a tuple of a code object, such as "co_freevars"; empty if there is none.
std::string name_at(PyObject* code, const char* which, Py_ssize_t index);

// The index of `item` in a list or tuple; -1: not found.
Py_ssize_t index_of(PyObject* sequence, PyObject* item);
// The index in a collections.deque, whose functions are C.
Py_ssize_t index_in_deque(PyObject* deque, PyObject* item);

// The name of an object's class.
std::string class_of(PyObject* object);
// A dictionary key as Python writes it, if this runs no code of the program: "'k'", "3"; for other
// objects their class.
std::string key_text(PyObject* key);

}  // namespace peakline::pyhook
