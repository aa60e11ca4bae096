// Makes the Python side known to capture while libpeakline.so is being loaded: capture stays free
// of Python, and nothing happens before attach.
#include <cstdio>

#include <dlfcn.h>

#include "allocator/capture/stack_capture.h"
#include "instances.h"
#include "python_runtime.h"
#include "python_stack.h"
#include "safe_point.h"

namespace peakline::pyhook {
namespace {

bool attach_side(char* reason, size_t room) {
    const AttachResult result = attach();
    snprintf(reason, room, "%s", result.reason);
    return result.support == PythonSupport::kOn;
}

// "3.11.7" of "3.11.7 (main, ...) [GCC ...]".
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

__attribute__((constructor)) void register_python_side() {
    capture::set_python_side(capture::PythonSide{attach_side,
                                                 capture_python_stack,
                                                 version_text,
                                                 prepare_fork,
                                                 parent_after_fork,
                                                 child_after_fork});
    capture::set_object_side(capture::ObjectSide{
        watch_methods,
        own_instance,
        [](record::StackTable& table, uint64_t address) {
            return g_instances.intern_slow(address, table);
        },
        [](uint64_t address) { g_instances.died(address); },
        [](uint32_t reason) { request_safe_point(static_cast<SafePoint>(reason)); },
        [](uint32_t reason) { run_safe_point(static_cast<SafePoint>(reason)); }});
}

}  // namespace
}  // namespace peakline::pyhook
