// What an object is, and where in it another one stands: asked without running code of the program.
// With the GIL; objects of Python that are made for it are given back.
#pragma once

#include <Python.h>

#include <string>

namespace peakline::pyhook {

// Whether it is of exactly this type of CPython, "PyCell_Type".
bool is_type(PyObject* object, const char* exported_name);
bool is_function(PyObject* object);
bool is_generator(PyObject* object);
// Whether its class is, or derives from, one of an imported module.
bool is_derived_from(PyObject* object, const char* module, const char* name);

// Of a function or code object; borrowed by nobody: only compared.
const void* attribute_address(PyObject* object, const char* name);
PyObject* code_of(PyObject* function);  // borrowed
// A name in a tuple of names of a code object, "co_freevars"; empty: there is none.
std::string name_at(PyObject* code, const char* which, Py_ssize_t index);

// Where `item` stands in a list or tuple; -1: not found.
Py_ssize_t index_of(PyObject* sequence, PyObject* item);
// Of a collections.deque, whose functions are C.
Py_ssize_t index_in_deque(PyObject* deque, PyObject* item);

// The name of an object's class.
std::string class_of(PyObject* object);
// As Python writes a key of a dictionary, where that runs no code of the program: "'k'", "3"; of
// other objects their class.
std::string key_text(PyObject* key);

}  // namespace peakline::pyhook
