#include "python_api.h"

#include <dlfcn.h>

namespace peakline::pyhook {
namespace {

template <class Pointer>
bool look_up(const char* name, Pointer* out) {
    void* const address = dlsym(RTLD_DEFAULT, name);
    static_assert(sizeof(Pointer) == sizeof address);
    __builtin_memcpy(out, &address, sizeof address);
    return address != nullptr;
}

}  // namespace

const char* load_python_api(PythonApi* api) {
    const char* missing = nullptr;
// The member is named like the symbol, so that neither can be mistaken.
#define PEAKLINE_REQUIRE(symbol)                                 \
    if (!look_up(#symbol, &api->symbol) && missing == nullptr) { \
        missing = #symbol;                                       \
    }
    PEAKLINE_REQUIRE(Py_GetVersion)
    PEAKLINE_REQUIRE(Py_IsInitialized)
    PEAKLINE_REQUIRE(Py_AtExit)
    PEAKLINE_REQUIRE(Py_DecRef)
    PEAKLINE_REQUIRE(PyGILState_Check)
    PEAKLINE_REQUIRE(PyGILState_GetThisThreadState)
    PEAKLINE_REQUIRE(PyErr_Fetch)
    PEAKLINE_REQUIRE(PyErr_Restore)
    PEAKLINE_REQUIRE(PyErr_Clear)
    PEAKLINE_REQUIRE(PyErr_ExceptionMatches)
    PEAKLINE_REQUIRE(PyErr_SetInterrupt)
    PEAKLINE_REQUIRE(PyDict_New)
    PEAKLINE_REQUIRE(PyDict_SetItemString)
    PEAKLINE_REQUIRE(PyDict_Clear)
    PEAKLINE_REQUIRE(PyUnicode_FromString)
    PEAKLINE_REQUIRE(PyUnicode_AsUTF8String)
    PEAKLINE_REQUIRE(PyBytes_AsStringAndSize)
    PEAKLINE_REQUIRE(PyLong_FromLong)
    PEAKLINE_REQUIRE(PyLong_AsLong)
    PEAKLINE_REQUIRE(PyObject_GetAttrString)
    PEAKLINE_REQUIRE(PyObject_CallFunctionObjArgs)
    PEAKLINE_REQUIRE(PyImport_ImportModule)
    PEAKLINE_REQUIRE(PyCFunction_NewEx)
    PEAKLINE_REQUIRE(Py_CompileString)
    PEAKLINE_REQUIRE(PyEval_EvalCode)
    PEAKLINE_REQUIRE(PyEval_GetBuiltins)
    PEAKLINE_REQUIRE(PyThreadState_Get)
    PEAKLINE_REQUIRE(PyThreadState_GetFrame)
    PEAKLINE_REQUIRE(PyFrame_GetBack)
    PEAKLINE_REQUIRE(PyFrame_GetCode)
    PEAKLINE_REQUIRE(PyFrame_GetLineNumber)
    PEAKLINE_REQUIRE(PyExc_KeyboardInterrupt)
    PEAKLINE_REQUIRE(PyCode_Type)
#undef PEAKLINE_REQUIRE
    look_up("PyThreadState_EnterTracing", &api->PyThreadState_EnterTracing);
    look_up("PyThreadState_LeaveTracing", &api->PyThreadState_LeaveTracing);
    look_up("_PyRuntime", &api->_PyRuntime);
    return missing;
}

bool has_python() {
    return dlsym(RTLD_DEFAULT, "Py_GetVersion") != nullptr;
}

bool has_traced_references() {
    return dlsym(RTLD_DEFAULT, "_Py_PrintReferences") != nullptr;
}

}  // namespace peakline::pyhook
