#include "safe_point.h"

#include <atomic>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <link.h>

#include "pyhook/frames/walk_gate.h"

namespace peakline::pyhook {
namespace {

// Runs once, in a separate namespace with `folder`. It adds only peakline._recorder to sys.modules.
constexpr char kLoader[] = R"(
import sys
def load(name, file):
    import importlib.util
    spec = importlib.util.spec_from_file_location(name, folder + "/" + file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # the parts of a package import each other through it
    spec.loader.exec_module(module)
    return module
def forget(name):
    for part in list(sys.modules):
        if part == name or part.startswith(name + "."):
            del sys.modules[part]
safe_point = None
if "torch" in sys.modules:
    recorder = sys.modules.get("peakline._recorder") or load(
        "peakline._recorder", "_recorder.abi3.so")
    try:
        safe_point = load("_peakline_objects", "torch_objects/__init__.py").connect(recorder)
    finally:
        forget("_peakline_objects")
)";

// Written once, under the GIL, before g_safe_point; release, because threads without the GIL load
// it.
std::atomic<const PythonApi*> g_loading_api{nullptr};
const PythonApi* g_api = nullptr;
// The function of torch_objects/. acquire and release: publishes the variables that it needs.
std::atomic<Object*> g_safe_point{nullptr};
// relaxed: a late reason is found by the next call.
std::atomic<uint32_t> g_reasons{0};
std::atomic<bool> g_is_waiting{false};
std::atomic<bool> g_load_is_waiting{false};

struct CodeRange {
    uintptr_t start = 0;
    uintptr_t end = 0;
    bool holds(const void* address) const {
        const auto value = reinterpret_cast<uintptr_t>(address);
        return value >= start && value < end;
    }
};
// The code of the interpreter. Written once, before g_safe_point.
CodeRange g_interpreter;

// The segment of the program or library that contains this function.
CodeRange code_around(const void* function) {
    struct Search {
        const void* wanted = nullptr;
        CodeRange found;
    } search{function, {}};
    const auto look = [](dl_phdr_info* library, size_t, void* pointer) {
        auto& wanted = *static_cast<Search*>(pointer);
        for (size_t i = 0; i < library->dlpi_phnum; ++i) {
            const ElfW(Phdr)& segment = library->dlpi_phdr[i];
            const uintptr_t start = library->dlpi_addr + segment.p_vaddr;
            const CodeRange range{start, start + segment.p_memsz};
            if (segment.p_type == PT_LOAD && range.holds(wanted.wanted)) {
                wanted.found = range;
                return 1;
            }
        }
        return 0;
    };
    dl_iterate_phdr(look, &search);
    return search.found;
}

// Hides our code from tracers of the program: debuggers, coverage.
class Untraced {
public:
    explicit Untraced(const PythonApi& api)
        : api_(api),
          thread_(api.PyThreadState_EnterTracing != nullptr &&
                          api.PyThreadState_LeaveTracing != nullptr
                      ? api.PyThreadState_Get()
                      : nullptr) {
        if (thread_ != nullptr) {
            api_.PyThreadState_EnterTracing(thread_);
        }
    }
    ~Untraced() {
        if (thread_ != nullptr) {
            api_.PyThreadState_LeaveTracing(thread_);
        }
    }
    Untraced(const Untraced&) = delete;
    Untraced& operator=(const Untraced&) = delete;

private:
    const PythonApi& api_;
    Object* thread_;
};

bool package_folder(char* out, size_t room) {
    Dl_info self{};
    if (dladdr(reinterpret_cast<const void*>(&package_folder), &self) == 0) {
        return false;
    }
    snprintf(out, room, "%s", self.dli_fname);
    for (int i = 0; i < 2; ++i) {  // removes the file, then _native
        char* const slash = strrchr(out, '/');
        if (slash == nullptr) {
            return false;
        }
        *slash = '\0';
    }
    return true;
}

void call(uint32_t reasons) {
    Object* const function = g_safe_point.load(std::memory_order_acquire);
    if (function == nullptr) {
        return;
    }
    const ExceptionKeeper keeper(*g_api);
    const Untraced untraced(*g_api);
    Object* const argument = g_api->PyLong_FromLong(static_cast<long>(reasons));
    Object* const result = argument == nullptr
                               ? nullptr
                               : g_api->PyObject_CallFunctionObjArgs(function, argument, nullptr);
    if (result == nullptr && g_api->PyErr_ExceptionMatches(*g_api->PyExc_KeyboardInterrupt) != 0) {
        g_api->PyErr_SetInterrupt();  // it was meant for the program: deliver it again
    }
    g_api->PyErr_Clear();
    for (Object* const object : {argument, result}) {
        if (object != nullptr) {
            g_api->Py_DecRef(object);
        }
    }
}

int run_pending(void*) {
    g_is_waiting.store(false, std::memory_order_relaxed);
    call(g_reasons.exchange(0, std::memory_order_relaxed));
    return 0;
}

Object* run_loader(const PythonApi& api, Object* globals, const char* folder) {
    Object* const path = api.PyUnicode_FromString(folder);
    if (path == nullptr || api.PyDict_SetItemString(globals, "folder", path) != 0 ||
        api.PyDict_SetItemString(globals, "__builtins__", api.PyEval_GetBuiltins()) != 0) {
        return nullptr;
    }
    Object* const code = api.Py_CompileString(kLoader, "<peakline>", kCompileFile);
    return code == nullptr ? nullptr : api.PyEval_EvalCode(code, globals, globals);
}

}  // namespace

bool load_safe_points(const PythonApi& api) {
    char folder[4096];
    if (api.Py_AddPendingCall == nullptr || api.PyDict_GetItemString == nullptr ||
        !package_folder(folder, sizeof folder)) {
        return false;
    }
    g_loading_api.store(&api, std::memory_order_release);
    const ExceptionKeeper keeper(api);
    const Untraced untraced(api);
    Object* const globals = api.PyDict_New();
    if (globals == nullptr || run_loader(api, globals, folder) == nullptr) {
        api.PyErr_Clear();
        return false;
    }
    Object* const function = api.PyDict_GetItemString(globals, "safe_point");  // borrowed
    Object* const is_callable =
        function == nullptr ? nullptr : api.PyObject_GetAttrString(function, "__call__");
    api.PyErr_Clear();
    if (is_callable == nullptr) {
        return false;
    }
    // `globals`, which owns the function, is never released.
    g_api = &api;
    g_interpreter = code_around(reinterpret_cast<const void*>(api.PyGILState_Check));
    g_safe_point.store(function, std::memory_order_release);
    return true;
}

void load_safe_points_if_missing() {
    const PythonApi* const api = g_loading_api.load(std::memory_order_acquire);
    if (api == nullptr || g_safe_point.load(std::memory_order_acquire) != nullptr ||
        g_walk_gate.state.load(std::memory_order_relaxed) != GateState::kOpen) {
        return;
    }
    const auto load = [](void*) {
        g_load_is_waiting.store(false, std::memory_order_relaxed);
        if (g_safe_point.load(std::memory_order_acquire) == nullptr) {
            load_safe_points(*g_loading_api.load(std::memory_order_acquire));
        }
        return 0;
    };
    if (!g_load_is_waiting.exchange(true, std::memory_order_relaxed) &&
        api->Py_AddPendingCall(load, nullptr) != 0) {
        g_load_is_waiting.store(false, std::memory_order_relaxed);
    }
}

void request_safe_point(SafePoint reason) {
    if (g_safe_point.load(std::memory_order_acquire) == nullptr ||
        g_walk_gate.state.load(std::memory_order_relaxed) != GateState::kOpen) {
        return;
    }
    g_reasons.fetch_or(static_cast<uint32_t>(reason), std::memory_order_relaxed);
    if (!g_is_waiting.exchange(true, std::memory_order_relaxed) &&
        g_api->Py_AddPendingCall(run_pending, nullptr) != 0) {
        g_is_waiting.store(false, std::memory_order_relaxed);
    }
}

void run_safe_point(SafePoint reason) {
    if (g_safe_point.load(std::memory_order_acquire) == nullptr || g_api->PyGILState_Check() == 0) {
        return;
    }
    call(g_reasons.exchange(0, std::memory_order_relaxed) | static_cast<uint32_t>(reason));
}

void run_last_look(const void* caller) {
    if (g_safe_point.load(std::memory_order_acquire) != nullptr && g_interpreter.holds(caller)) {
        run_safe_point(SafePoint::kLastLook);
    }
}

void forget_safe_points() {
    g_loading_api.store(nullptr, std::memory_order_release);
    g_safe_point.store(nullptr, std::memory_order_release);
}

}  // namespace peakline::pyhook
