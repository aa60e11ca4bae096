// The CPython functions that attach() calls, looked up by name in the process: we are built without
// its headers and run with any version. Only for attach() and the self-test, with the GIL; a
// capture calls none of them.
#pragma once

#include <cstddef>

namespace peakline::pyhook {

struct Object;  // PyObject, PyFrameObject, PyThreadState: opaque here

using CFunction = Object* (*)(Object* self, Object* argument);
using CodeDealloc = void (*)(Object* code);

// PyMethodDef
struct MethodDef {
    const char* name;
    CFunction function;
    int flags;
    const char* doc;
};
inline constexpr int kMethodWithoutArguments = 4;  // METH_NOARGS
inline constexpr int kCompileFile = 257;           // Py_file_input

struct PythonApi {
    const char* (*Py_GetVersion)();
    int (*Py_IsInitialized)();
    int (*Py_AtExit)(void (*function)());
    void (*Py_DecRef)(Object* object);
    int (*PyGILState_Check)();
    void* (*PyGILState_GetThisThreadState)();
    void* (*PyEval_SaveThread)();
    void (*PyEval_RestoreThread)(void* thread);

    void (*PyErr_Fetch)(Object** type, Object** value, Object** traceback);
    void (*PyErr_Restore)(Object* type, Object* value, Object* traceback);
    void (*PyErr_Clear)();
    int (*PyErr_ExceptionMatches)(Object* type);
    void (*PyErr_SetInterrupt)();

    Object* (*PyDict_New)();
    int (*PyDict_SetItemString)(Object* dict, const char* key, Object* value);
    Object* (*PyUnicode_FromString)(const char* text);
    Object* (*PyUnicode_AsUTF8String)(Object* string);
    int (*PyBytes_AsStringAndSize)(Object* bytes, char** text, ptrdiff_t* length);
    Object* (*PyLong_FromLong)(long value);
    long (*PyLong_AsLong)(Object* integer);
    Object* (*PyObject_GetAttrString)(Object* object, const char* name);
    Object* (*PyObject_CallFunctionObjArgs)(Object* callable, ...);
    Object* (*PyImport_ImportModule)(const char* name);
    Object* (*PyCFunction_NewEx)(MethodDef* method, Object* self, Object* module);

    Object* (*Py_CompileString)(const char* source, const char* file, int start);
    Object* (*PyEval_EvalCode)(Object* code, Object* globals, Object* locals);
    Object* (*PyEval_GetBuiltins)();
    Object* (*PyThreadState_Get)();
    Object* (*PyThreadState_GetFrame)(Object* thread);
    Object* (*PyFrame_GetBack)(Object* frame);
    Object* (*PyFrame_GetCode)(Object* frame);
    int (*PyFrame_GetLineNumber)(Object* frame);

    // Used only by safe points.
    int (*Py_AddPendingCall)(int (*function)(void*), void* argument);
    Object* (*PyDict_GetItemString)(Object* dict, const char* key);

    // Used only by import_watch.cpp.
    int (*PySys_AddAuditHook)(int (*hook)(const char* event, Object* arguments, void* data),
                              void* data);
    Object* (*PyTuple_GetItem)(Object* tuple, ptrdiff_t index);
    const char* (*PyUnicode_AsUTF8AndSize)(Object* string, ptrdiff_t* length);

    // May be absent in some versions.
    void (*PyThreadState_EnterTracing)(Object* thread);  // 3.11+
    void (*PyThreadState_LeaveTracing)(Object* thread);

    // Data.
    Object** PyExc_KeyboardInterrupt;
    void* PyCode_Type;
    const void* _PyRuntime;
};

// Fills `api`. Returns nullptr, or the name of the first function that this process lacks.
const char* load_python_api(PythonApi* api);

// Saves the current exception of this thread and restores it at the end.
class ExceptionKeeper {
public:
    explicit ExceptionKeeper(const PythonApi& api) : api_(api) {
        api_.PyErr_Fetch(&type_, &value_, &traceback_);
    }
    ~ExceptionKeeper() { api_.PyErr_Restore(type_, value_, traceback_); }
    ExceptionKeeper(const ExceptionKeeper&) = delete;
    ExceptionKeeper& operator=(const ExceptionKeeper&) = delete;

private:
    const PythonApi& api_;
    Object* type_ = nullptr;
    Object* value_ = nullptr;
    Object* traceback_ = nullptr;
};

// Whether any Python is in the process.
bool has_python();

// Whether objects of this build have more fields than usual (Py_TRACE_REFS).
bool has_traced_references();

}  // namespace peakline::pyhook
