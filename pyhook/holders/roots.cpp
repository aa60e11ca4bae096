#include "roots.h"

#include <algorithm>

#include <dlfcn.h>

#include "allocator/record/format/trace_format.h"
#include "frame_layout.h"
#include "object_layout.h"

namespace peakline::pyhook {
namespace {

using format::HolderKind;

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

bool is_of_library(const std::string& file) {
    return contains(file, "/site-packages/") || contains(file, "/dist-packages/") ||
           contains(file, "/lib/python3.") || file.rfind('<', 0) == 0 || file.empty();
}

// The package's folder: its functions are not the program's.
const std::string& own_folder() {
    static const std::string folder = [] {
        Dl_info self{};
        const bool is_known = dladdr(reinterpret_cast<const void*>(&is_of_library), &self) != 0;
        const std::string file = is_known ? self.dli_fname : "";
        return file.substr(0, file.rfind('/') + 1);
    }();
    return folder;
}

bool is_ours(const std::string& file) {
    return file == "<peakline>" || (!own_folder().empty() && file.rfind(own_folder(), 0) == 0);
}

void add_variables(std::vector<Root>* roots) {
    std::vector<FrameView> frames = running_frames();
    std::reverse(frames.begin(), frames.end());  // callers hold objects longer than their callees
    for (const FrameView& frame : frames) {
        const std::string file = file_of(frame.code);
        if (is_ours(file)) {
            continue;
        }
        const std::string detail =
            " of " + function_of(frame.code) + " (" + location_of(frame) + ")";
        for (Variable& variable : variables_of(frame)) {
            Root root = make_root(HolderKind::kLocal, std::move(variable.name), variable.value);
            root.detail = detail;
            root.is_later = is_of_library(file);
            roots->push_back(std::move(root));
        }
    }
}

std::string file_of_module(PyObject* names) {
    return text_of(PyDict_GetItemString(names, "__file__"));
}

void add_modules(std::vector<Root>* roots) {
    PyObject* const modules = PyImport_GetModuleDict();
    PyObject* key = nullptr;
    PyObject* module = nullptr;
    Py_ssize_t position = 0;
    while (modules != nullptr && PyDict_Next(modules, &position, &key, &module) != 0) {
        PyObject* const names = PyModule_Check(module) != 0 ? PyModule_GetDict(module) : nullptr;
        const std::string name = text_of(key);
        const std::string file = names == nullptr ? std::string() : file_of_module(names);
        if (names == nullptr || is_ours(file)) {
            continue;
        }
        Root root = make_root(HolderKind::kGlobal, shown_module(name), names);
        root.is_namespace = true;
        root.is_later = name != "__main__" && is_of_library(file);
        roots->push_back(root);
        root.object = module;  // held by its C code
        root.is_namespace = false;
        root.is_later = true;
        roots->push_back(std::move(root));
    }
}

void add_thread_data(std::vector<Root>* roots) {
    for (PyObject* const dictionary : thread_dictionaries()) {
        Root root = make_root(HolderKind::kThreadData, "threading.local", dictionary);
        root.is_namespace = true;
        roots->push_back(std::move(root));
    }
}

}  // namespace

Root make_root(HolderKind kind, std::string name, PyObject* object) {
    Root root;
    root.kind = static_cast<uint32_t>(kind);
    root.name = std::move(name);
    root.object = object;
    return root;
}

std::string shown_module(const std::string& name) {
    if (name != "__main__") {
        return name;
    }
    std::string path = text_of(imported("__main__", "__file__"));
    if (path.empty()) {  // CPython removes it when main ends
        PyObject* const words = imported("sys", "argv");
        const bool has_words =
            words != nullptr && PyList_Check(words) != 0 && PyList_Size(words) > 0;
        path = has_words ? text_of(PyList_GetItem(words, 0)) : path;
    }
    const std::string base = path.substr(path.rfind('/') + 1);
    const size_t dot = base.rfind('.');
    return dot == std::string::npos ? name : base.substr(0, dot);
}

std::vector<Root> program_roots() {
    std::vector<Root> roots;
    add_variables(&roots);
    add_modules(&roots);
    add_thread_data(&roots);
    return roots;
}

PyObject* all_objects() {
    PyObject* const get_objects = imported("gc", "get_objects");
    if (get_objects == nullptr || PyCFunction_Check(get_objects) == 0) {
        return nullptr;
    }
    // Passes the default explicitly: a call without arguments makes CPython keep a tuple for its
    // keywords.
    PyObject* const list = PyObject_CallFunctionObjArgs(get_objects, Py_None, nullptr);
    PyErr_Clear();
    return list;
}

}  // namespace peakline::pyhook
