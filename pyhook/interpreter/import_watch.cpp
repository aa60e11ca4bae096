#include "import_watch.h"

#include <cstring>
#include <string_view>

#include "safe_point.h"

namespace peakline::pyhook {
namespace {

// Written once, before the hook is added.
const PythonApi* g_api = nullptr;

// Called for every audit event. For "import" the arguments begin with the module's name.
int see_event(const char* event, Object* arguments, void*) {
    if (std::strcmp(event, "import") != 0) {
        return 0;
    }
    Object* const name = g_api->PyTuple_GetItem(arguments, 0);  // borrowed
    const char* const text =
        name == nullptr ? nullptr : g_api->PyUnicode_AsUTF8AndSize(name, nullptr);
    if (text == nullptr) {
        g_api->PyErr_Clear();
        return 0;
    }
    if (std::string_view(text).starts_with("torch._inductor")) {
        request_safe_point(SafePoint::kCompiler);
    }
    return 0;
}

}  // namespace

void watch_imports(const PythonApi& api) {
    if (g_api != nullptr || api.PySys_AddAuditHook == nullptr || api.PyTuple_GetItem == nullptr ||
        api.PyUnicode_AsUTF8AndSize == nullptr) {
        return;
    }
    const ExceptionKeeper keeper(api);
    g_api = &api;
    // A hook of the program may refuse it: then safe points find the compiler later.
    if (api.PySys_AddAuditHook(see_event, nullptr) != 0) {
        api.PyErr_Clear();
    }
}

}  // namespace peakline::pyhook
