#include "arguments.h"

#include <vector>

namespace peakline::report::python {
namespace {

bool set_text(PyObject* value, std::string* option) {
    if (value == nullptr || value == Py_None) {
        return true;
    }
    const std::optional<std::string> text = text_of(value);
    if (text.has_value()) {
        *option = *text;
    }
    return text.has_value();
}

// Takes one text, or a sequence of texts.
bool set_texts(PyObject* value, std::vector<std::string>* option) {
    if (value == nullptr || value == Py_None) {
        return true;
    }
    if (PyUnicode_Check(value) != 0) {
        return set_text(value, &option->emplace_back());
    }
    PyObject* items = PySequence_List(value);
    for (Py_ssize_t i = 0; items != nullptr && i < PyList_Size(items); ++i) {
        if (!set_text(PyList_GetItem(items, i), &option->emplace_back())) {
            Py_DECREF(items);
            return false;
        }
    }
    Py_XDECREF(items);
    return items != nullptr;
}

// Arguments of report() from Python, borrowed. An omitted one keeps its value here.
struct CallArguments {
    int json = 0;
    PyObject* by = nullptr;
    PyObject* frame = nullptr;
    PyObject* at = nullptr;
    PyObject* during = nullptr;
    PyObject* device = nullptr;
    PyObject* measure = nullptr;
    unsigned long long top = 0;
    PyObject* hide = nullptr;
    int full_paths = 0;
    PyObject* cwd = nullptr;
    unsigned long long depth = 0;
    int fold = 0;
    unsigned long long min_bytes = 0;
    PyObject* symbols = nullptr;
    int native = 0;
    PyObject* where = nullptr;
    unsigned search = 0;
    PyObject* settings = nullptr;
    unsigned long long device_memory = 0;
    PyObject* empty_cache_at = nullptr;
    int search_settings = 0;
    int smallest_device = 0;
    int unverified = 0;
    int findings = 1;
    unsigned long long budget = 0;
    PyObject* budget_of = nullptr;
    PyObject* recomputed = nullptr;
    PyObject* flops = nullptr;
    PyObject* layers = nullptr;
    PyObject* sizes = nullptr;
    PyObject* at_sizes = nullptr;
};

bool parse_arguments(PyObject* args, PyObject* kwargs, const char** name, CallArguments* given) {
    static const char* names[] = {"",  // the name of the report, by position
                                  "json",
                                  "by",
                                  "frame",
                                  "at",
                                  "device",
                                  "measure",
                                  "top",
                                  "hide",
                                  "full_paths",
                                  "cwd",
                                  "depth",
                                  "fold",
                                  "min_bytes",
                                  "symbols",
                                  "native",
                                  "where",
                                  "search",
                                  "settings",
                                  "device_memory",
                                  "empty_cache_at",
                                  "search_settings",
                                  "smallest_device",
                                  "unverified",
                                  "during",
                                  "findings",
                                  "peak_budget",
                                  "budget_of",
                                  "recomputed",
                                  "flops",
                                  "layers",
                                  "sizes",
                                  "at_sizes",
                                  nullptr};
    return PyArg_ParseTupleAndKeywords(args,
                                       kwargs,
                                       "s|$pOOOOOKOpOKpKOpOIOKOpppOpKOOOOOO:report",
                                       const_cast<char**>(names),
                                       name,
                                       &given->json,
                                       &given->by,
                                       &given->frame,
                                       &given->at,
                                       &given->device,
                                       &given->measure,
                                       &given->top,
                                       &given->hide,
                                       &given->full_paths,
                                       &given->cwd,
                                       &given->depth,
                                       &given->fold,
                                       &given->min_bytes,
                                       &given->symbols,
                                       &given->native,
                                       &given->where,
                                       &given->search,
                                       &given->settings,
                                       &given->device_memory,
                                       &given->empty_cache_at,
                                       &given->search_settings,
                                       &given->smallest_device,
                                       &given->unverified,
                                       &given->during,
                                       &given->findings,
                                       &given->budget,
                                       &given->budget_of,
                                       &given->recomputed,
                                       &given->flops,
                                       &given->layers,
                                       &given->sizes,
                                       &given->at_sizes) != 0;
}

bool set_options(const CallArguments& given, ReportOptions* options) {
    options->form = given.json != 0 ? OutputForm::kJson : OutputForm::kDocument;
    options->top = given.top;
    options->min_bytes = given.min_bytes;
    options->search = given.search;
    options->with_findings = given.findings != 0;
    options->paths.full_paths = given.full_paths != 0;
    WhatIfText& whatif = options->whatif;
    whatif.device_bytes = given.device_memory;
    whatif.searches = given.search_settings != 0;
    whatif.finds_smallest_device = given.smallest_device != 0;
    whatif.is_unverified = given.unverified != 0;
    options->plan.budget_bytes = given.budget;
    auto& selection = options->selection;
    selection.depth = given.depth;
    selection.fold = given.fold != 0;
    selection.native = given.native != 0;
    return set_text(given.by, &selection.by) && set_text(given.frame, &selection.frame) &&
           set_text(given.at, &selection.at) && set_text(given.during, &selection.during) &&
           set_text(given.device, &selection.device) &&
           set_text(given.measure, &selection.measure) && set_texts(given.hide, &selection.hide) &&
           set_texts(given.symbols, &selection.symbols) &&
           set_texts(given.where, &selection.where) &&
           set_texts(given.settings, &whatif.settings) &&
           set_text(given.empty_cache_at, &whatif.empty_cache_at) &&
           set_text(given.budget_of, &options->plan.budget_of) &&
           set_text(given.recomputed, &options->plan.recomputed) &&
           set_texts(given.flops, &options->plan.flops) &&
           set_texts(given.layers, &options->plan.layers) &&
           set_texts(given.sizes, &options->sizes.recorded) &&
           set_texts(given.at_sizes, &options->sizes.at) &&
           set_text(given.cwd, &options->paths.working_directory);
}

}  // namespace

// nullopt with an exception set when `object` is no text that UTF-8 can encode.
std::optional<std::string> text_of(PyObject* object) {
    PyObject* text = PyObject_Str(object);
    if (text == nullptr) {
        return std::nullopt;
    }
    PyObject* bytes = PyUnicode_EncodeFSDefault(text);
    Py_DECREF(text);
    if (bytes == nullptr) {
        return std::nullopt;
    }
    std::string result(PyBytes_AsString(bytes), static_cast<size_t>(PyBytes_Size(bytes)));
    Py_DECREF(bytes);
    return result;
}

bool parse_call(PyObject* args, PyObject* kwargs, ReportCall* call) {
    CallArguments given;
    return parse_arguments(args, kwargs, &call->name, &given) && set_options(given, &call->options);
}

}  // namespace peakline::report::python
