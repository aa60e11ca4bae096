// Registers the Python side with capture while libpeakline.so is loaded, so that capture does not
// depend on Python. Nothing happens before attach.
#include <cstdint>
#include <cstdio>

#include <dlfcn.h>

#include "allocator/capture/stack_capture.h"
#include "pyhook/code/instances.h"
#include "pyhook/interpreter/interpreter_end.h"
#include "pyhook/interpreter/safe_point.h"
#include "python_runtime.h"
#include "python_stack.h"
#include "watched_objects.h"

namespace peakline::pyhook {
namespace {

capture::Attach attach_side(char* reason, size_t room, void (*when_possible)()) {
    const AttachResult result = attach(when_possible);
    snprintf(reason, room, "%s", result.reason);
    switch (result.support) {
        case PythonSupport::kOn:
            return capture::Attach::kAttached;
        case PythonSupport::kWaiting:
            return capture::Attach::kWaiting;
        case PythonSupport::kNone:
        case PythonSupport::kOff:
            break;
    }
    return capture::Attach::kNot;
}

// Returns "3.11.7" from "3.11.7 (main, ...) [GCC ...]".
const char* version_text() {
    static char text[32] = "";
    const auto get_version =
        reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
    if (text[0] == '\0' && get_version != nullptr) {
        const char* full = get_version();
        size_t i = 0;
        for (; full[i] != '\0' && full[i] != ' ' && i + 1 < sizeof text; ++i) {
            text[i] = full[i];
        }
        text[i] = '\0';
    }
    return text;
}

// Runs in the main thread, with the GIL.
int raise_exit(void* status) {
    const auto long_from =
        reinterpret_cast<void* (*)(long)>(dlsym(RTLD_DEFAULT, "PyLong_FromLong"));
    const auto set_error =
        reinterpret_cast<void (*)(void*, void*)>(dlsym(RTLD_DEFAULT, "PyErr_SetObject"));
    auto* const system_exit = reinterpret_cast<void**>(dlsym(RTLD_DEFAULT, "PyExc_SystemExit"));
    if (long_from == nullptr || set_error == nullptr || system_exit == nullptr) {
        return 0;
    }
    // CPython keeps small numbers for ever, so there is no reference to release.
    set_error(*system_exit, long_from(reinterpret_cast<intptr_t>(status)));
    return -1;
}

bool request_exit(int status) {
    const auto add_pending_call =
        reinterpret_cast<int (*)(int (*)(void*), void*)>(dlsym(RTLD_DEFAULT, "Py_AddPendingCall"));
    return add_pending_call != nullptr &&
           add_pending_call(raise_exit, reinterpret_cast<void*>(intptr_t{status})) == 0;
}

__attribute__((constructor)) void register_python_side() {
    set_main_end_handler(capture::report_main_end);
    capture::set_python_side(capture::PythonSide{predicted_python_stack,
                                                 capture_python_stack,
                                                 fetch_python_stack,
                                                 attach_side,
                                                 version_text,
                                                 request_exit,
                                                 prepare_fork,
                                                 parent_after_fork,
                                                 child_after_fork});
    capture::set_object_side(
        capture::ObjectSide{watch_methods,
                            own_instance,
                            [](record::StackTable& table, uint64_t address) {
                                return g_instances.intern_slow(address, table, false);
                            },
                            [](uint64_t address) { return g_instances.knows(address); },
                            [](uint64_t kind, uint64_t finalizer) {
                                return g_watched_objects.learn_finalizer(kind, finalizer);
                            },
                            [](uint64_t kind) { return g_watched_objects.watch_class(kind); },
                            [](uint64_t address) { return g_watched_objects.watch(address); },
                            [](uint64_t address, uint64_t number) {
                                return g_watched_objects.is_alive(address, number);
                            },
                            request_safe_point,
                            load_safe_points_if_missing,
                            run_safe_point,
                            run_last_look});
}

}  // namespace
}  // namespace peakline::pyhook
