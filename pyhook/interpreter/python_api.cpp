#include "python_api.h"

#include <dlfcn.h>

namespace peakline::pyhook {
namespace {

enum Need { kRequired, kOptional };

struct Symbol {
    const char* name;
    void* member;  // of PythonApi; holds one pointer
    Need need;
};

constexpr Symbol symbol_of(const char* name, void* member, Need need) {
    return {name, member, need};
}

}  // namespace

const char* load_python_api(PythonApi* api) {
// Members are named after their symbols, so they cannot be confused.
#define PEAKLINE_SYMBOL(symbol, need) symbol_of(#symbol, &api->symbol, need)
    const Symbol symbols[] = {
        PEAKLINE_SYMBOL(Py_GetVersion, kRequired),
        PEAKLINE_SYMBOL(Py_IsInitialized, kRequired),
        PEAKLINE_SYMBOL(Py_AtExit, kRequired),
        PEAKLINE_SYMBOL(Py_DecRef, kRequired),
        PEAKLINE_SYMBOL(PyGILState_Check, kRequired),
        PEAKLINE_SYMBOL(PyGILState_GetThisThreadState, kRequired),
        PEAKLINE_SYMBOL(PyEval_SaveThread, kRequired),
        PEAKLINE_SYMBOL(PyEval_RestoreThread, kRequired),
        PEAKLINE_SYMBOL(PyErr_Fetch, kRequired),
        PEAKLINE_SYMBOL(PyErr_Restore, kRequired),
        PEAKLINE_SYMBOL(PyErr_Clear, kRequired),
        PEAKLINE_SYMBOL(PyErr_ExceptionMatches, kRequired),
        PEAKLINE_SYMBOL(PyErr_SetInterrupt, kRequired),
        PEAKLINE_SYMBOL(PyDict_New, kRequired),
        PEAKLINE_SYMBOL(PyDict_SetItemString, kRequired),
        PEAKLINE_SYMBOL(PyUnicode_FromString, kRequired),
        PEAKLINE_SYMBOL(PyUnicode_AsUTF8String, kRequired),
        PEAKLINE_SYMBOL(PyBytes_AsStringAndSize, kRequired),
        PEAKLINE_SYMBOL(PyLong_FromLong, kRequired),
        PEAKLINE_SYMBOL(PyLong_AsLong, kRequired),
        PEAKLINE_SYMBOL(PyObject_GetAttrString, kRequired),
        PEAKLINE_SYMBOL(PyObject_CallFunctionObjArgs, kRequired),
        PEAKLINE_SYMBOL(PyImport_ImportModule, kRequired),
        PEAKLINE_SYMBOL(PyCFunction_NewEx, kRequired),
        PEAKLINE_SYMBOL(Py_CompileString, kRequired),
        PEAKLINE_SYMBOL(PyEval_EvalCode, kRequired),
        PEAKLINE_SYMBOL(PyEval_GetBuiltins, kRequired),
        PEAKLINE_SYMBOL(PyThreadState_Get, kRequired),
        PEAKLINE_SYMBOL(PyThreadState_GetFrame, kRequired),
        PEAKLINE_SYMBOL(PyFrame_GetBack, kRequired),
        PEAKLINE_SYMBOL(PyFrame_GetCode, kRequired),
        PEAKLINE_SYMBOL(PyFrame_GetLineNumber, kRequired),
        PEAKLINE_SYMBOL(PyExc_KeyboardInterrupt, kRequired),
        PEAKLINE_SYMBOL(PyCode_Type, kRequired),
        PEAKLINE_SYMBOL(PySys_AddAuditHook, kOptional),
        PEAKLINE_SYMBOL(PyTuple_GetItem, kOptional),
        PEAKLINE_SYMBOL(PyUnicode_AsUTF8AndSize, kOptional),
        PEAKLINE_SYMBOL(PyThreadState_EnterTracing, kOptional),
        PEAKLINE_SYMBOL(PyThreadState_LeaveTracing, kOptional),
        PEAKLINE_SYMBOL(Py_AddPendingCall, kOptional),
        PEAKLINE_SYMBOL(PyDict_GetItemString, kOptional),
        PEAKLINE_SYMBOL(_PyRuntime, kOptional),
    };
#undef PEAKLINE_SYMBOL
    const char* missing = nullptr;
    for (const Symbol& symbol : symbols) {
        void* const address = dlsym(RTLD_DEFAULT, symbol.name);
        __builtin_memcpy(symbol.member, &address, sizeof address);
        if (address == nullptr && symbol.need == kRequired && missing == nullptr) {
            missing = symbol.name;
        }
    }
    return missing;
}

bool has_python() {
    return dlsym(RTLD_DEFAULT, "Py_GetVersion") != nullptr;
}

bool has_traced_references() {
    return dlsym(RTLD_DEFAULT, "_Py_PrintReferences") != nullptr;
}

}  // namespace peakline::pyhook
