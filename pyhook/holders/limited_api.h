// Python.h for all of peakline._recorder. Limited API, so one build serves CPython 3.10 and later.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
