#include "interpreter_end.h"

#include "pyhook/frames/walk_gate.h"
#include "safe_point.h"

namespace peakline::pyhook {
namespace {

// Written once by watch_end(); all under the GIL.
const PythonApi* g_api = nullptr;
bool g_main_has_ended = false;
void (*g_main_end_handler)() = [] {};

// Names objects of the program while they live: later callbacks may drop them.
void end_main() {
    if (!g_main_has_ended) {
        g_main_has_ended = true;
        g_main_end_handler();
        run_safe_point(SafePoint::kLastLook);
    }
}

Object* hook_main_end(Object*, Object*) {
    end_main();
    return g_api->PyLong_FromLong(0);
}

// Runs first in a process without threading, or in one that ended before attach().
Object* hook_exit(Object*, Object*) {
    end_main();
    forget_safe_points();
    close_gate_to_others_slow();
    return g_api->PyLong_FromLong(0);
}

// Calls `registrar`.`name`(function). Returns false on failure.
bool add_callback(const char* registrar, const char* name, MethodDef* method) {
    Object* const function = g_api->PyCFunction_NewEx(method, nullptr, nullptr);
    Object* const module = g_api->PyImport_ImportModule(registrar);
    Object* const add = module == nullptr ? nullptr : g_api->PyObject_GetAttrString(module, name);
    Object* const added = add == nullptr || function == nullptr
                              ? nullptr
                              : g_api->PyObject_CallFunctionObjArgs(add, function, nullptr);
    for (Object* const object : {function, module, add, added}) {
        if (object != nullptr) {
            g_api->Py_DecRef(object);
        }
    }
    return added != nullptr;
}

MethodDef g_main_end_method = {
    "peakline_main_end", hook_main_end, kMethodWithoutArguments, nullptr};

// See Note [End of main]. Without this callback, hook_exit marks the end.
Object* hook_shutdown(Object*, Object*) {
    if (!add_callback("atexit", "register", &g_main_end_method)) {
        g_api->PyErr_Clear();
    }
    return g_api->PyLong_FromLong(0);
}

MethodDef g_exit_method = {"peakline_exit", hook_exit, kMethodWithoutArguments, nullptr};
MethodDef g_shutdown_method = {
    "peakline_shutdown", hook_shutdown, kMethodWithoutArguments, nullptr};

// Without threading there are no threads to join. This does not import it.
bool has_threading() {
    Object* const sys = g_api->PyImport_ImportModule("sys");
    Object* const modules =
        sys == nullptr ? nullptr : g_api->PyObject_GetAttrString(sys, "modules");
    const bool has_it =
        modules != nullptr && g_api->PyDict_GetItemString(modules, "threading") != nullptr;
    for (Object* const object : {sys, modules}) {
        if (object != nullptr) {
            g_api->Py_DecRef(object);
        }
    }
    return has_it;
}

}  // namespace

void set_main_end_handler(void (*handler)()) {
    g_main_end_handler = handler;
}

// See Note [End of the interpreter] in walk_gate.h.
bool watch_end(const PythonApi& api) {
    g_api = &api;
    if (!add_callback("atexit", "register", &g_exit_method) || api.Py_AtExit(close_gate) != 0) {
        return false;
    }
    if (has_threading()) {
        add_callback("threading", "_register_atexit", &g_shutdown_method);
    }
    return true;
}

}  // namespace peakline::pyhook
