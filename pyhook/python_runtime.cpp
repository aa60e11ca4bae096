#include "python_runtime.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "pyhook/code/code_table.h"
#include "pyhook/frames/walk_gate.h"
#include "pyhook/interpreter/gil_watch.h"
#include "pyhook/interpreter/import_watch.h"
#include "pyhook/interpreter/interpreter_end.h"
#include "pyhook/interpreter/late_attach.h"
#include "pyhook/interpreter/python_api.h"
#include "pyhook/interpreter/safe_point.h"
#include "pyhook/interpreter/self_test.h"
#include "python_stack.h"

namespace peakline::pyhook {
namespace {

// Written once by attach(), under the GIL.
PythonApi g_api;
CodeReader g_reader;
CodeDealloc g_real_code_dealloc = nullptr;
const PythonLayout* g_layout = nullptr;
// kWaiting until the first attach(), which writes it; later written under the GIL.
AttachResult g_result = {PythonSupport::kWaiting, ""};
bool g_is_found = false;
// acquire and release are not needed: one thread passes, and the GIL orders the rest.
std::atomic<bool> g_is_attaching{false};
char g_reason[384];

AttachResult off(const char* version, const char* why) {
    snprintf(g_reason,
             sizeof g_reason,
             "Python %.*s: %s",
             static_cast<int>(strcspn(version, " ")),
             version,
             why);
    return {PythonSupport::kOff, g_reason};
}

void hook_code_dealloc(Object* code) {
    g_code_table.code_died(reinterpret_cast<uint64_t>(code));
    g_real_code_dealloc(code);
}

// PyCode_Type is one static type for all interpreters of the process. The store is atomic for
// interpreters with their own GIL.
void watch_code_deaths() {
    auto* const slot =
        reinterpret_cast<CodeDealloc*>(static_cast<char*>(g_api.PyCode_Type) + kTypeDealloc);
    g_real_code_dealloc = *slot;
    __atomic_store_n(slot, &hook_code_dealloc, __ATOMIC_RELEASE);
}

void unwatch_code_deaths() {
    auto* const slot =
        reinterpret_cast<CodeDealloc*>(static_cast<char*>(g_api.PyCode_Type) + kTypeDealloc);
    __atomic_store_n(slot, g_real_code_dealloc, __ATOMIC_RELEASE);
}

// Registers and drops a code object, and checks that the epoch changes.
bool sees_code_deaths() {
    Object* const code = g_api.Py_CompileString("0", "<peakline self-test>", kCompileFile);
    if (code == nullptr) {
        g_api.PyErr_Clear();
        return false;
    }
    const uint64_t before = g_code_table.epoch();
    g_code_table.watch(reinterpret_cast<uint64_t>(code));
    g_api.Py_DecRef(code);
    return g_code_table.epoch() != before;
}

// Returns nullptr, or why this build cannot be read.
const char* unsupported_build(const char* version) {
    if (strstr(version, "free-threading") != nullptr) {
        return "builds without the GIL are not supported";
    }
    if (has_traced_references()) {
        return "builds with Py_TRACE_REFS are not supported";
    }
    return nullptr;
}

// The checks that work without the GIL. kWaiting: the others need it.
AttachResult find_interpreter() {
    if (!has_python()) {
        return {PythonSupport::kNone, ""};
    }
    Reason reason = {};
    if (const char* const missing = load_python_api(&g_api)) {
        snprintf(reason.text, sizeof reason.text, "%s is missing", missing);
        return off(g_api.Py_GetVersion == nullptr ? "" : g_api.Py_GetVersion(), reason.text);
    }
    const char* const version = g_api.Py_GetVersion();
    if (const char* const why = unsupported_build(version)) {
        return off(version, why);
    }
    g_layout = layout_of(version);
    if (g_layout == nullptr) {
        return off(version, "this version is not known");
    }
    return {PythonSupport::kWaiting, ""};
}

bool holds_gil() {
    return g_api.Py_IsInitialized() != 0 && g_api.PyGILState_Check() != 0;
}

AttachResult attach_with_gil() {
    const char* const version = g_api.Py_GetVersion();
    const ExceptionKeeper keeper(g_api);
    Reason reason = {};
    g_reader = {g_layout, g_api.PyCode_Type};
    if (!agrees_with_debug_offsets(g_api, *g_layout, &reason) ||
        !self_test(g_api, g_reader, &reason)) {
        return off(version, reason.text);
    }
    if (!init_python_stacks()) {
        return off(version, "no memory for the stack tables");
    }
    watch_code_deaths();
    if (!sees_code_deaths()) {
        unwatch_code_deaths();
        return off(version, "code objects die unseen");
    }
    const bool is_watched = watch_end(g_api);
    g_api.PyErr_Clear();
    if (!is_watched) {
        return off(version, "its end cannot be watched");
    }
    open_gate(*g_layout, g_api.PyGILState_GetThisThreadState);
    watch_gil(g_api);
    load_safe_points(g_api);
    watch_imports(g_api);
    return {PythonSupport::kOn, ""};
}

}  // namespace

AttachResult attach(void (*when_possible)()) {
    const bool is_first = !g_is_found;
    if (is_first) {
        g_is_found = true;
        g_result = find_interpreter();
    }
    if (g_result.support != PythonSupport::kWaiting) {
        stop_waiting();  // another thread may have begun to wait after it was attached
        return g_result;
    }
    if (!holds_gil()) {
        if (is_first && when_possible != nullptr) {
            wait_for_gil(g_api, when_possible);
        }
        return {PythonSupport::kWaiting, ""};
    }
    // attach_with_gil() releases the GIL, so another thread may get here meanwhile.
    if (!g_is_attaching.exchange(true, std::memory_order_relaxed)) {
        g_result = attach_with_gil();
        stop_waiting();
    }
    return g_result;
}

const CodeReader& code_reader() {
    return g_reader;
}

}  // namespace peakline::pyhook
