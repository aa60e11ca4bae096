#include "dwarf_library.h"

#include <optional>
#include <type_traits>

#include <dlfcn.h>

namespace peakline::report {
namespace {

std::optional<DwarfLibrary> load() {
    void* const library = dlopen("libdw.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
        return std::nullopt;
    }
    bool is_whole = true;
    const auto find = [&](const char* symbol, auto* function) {
        void* const found = dlsym(library, symbol);
        is_whole = is_whole && found != nullptr;
        *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(found);
    };
    DwarfLibrary found{};
    find("dwfl_begin", &found.dwfl_begin);
    find("dwfl_end", &found.dwfl_end);
    find("dwfl_report_offline", &found.dwfl_report_offline);
    find("dwfl_report_end", &found.dwfl_report_end);
    find("dwfl_offline_section_address", &found.section_address);
    find("dwfl_module_getdwarf", &found.dwfl_module_getdwarf);
    find("dwfl_module_getsrc", &found.dwfl_module_getsrc);
    find("dwfl_lineinfo", &found.dwfl_lineinfo);
    find("dwfl_module_addrdie", &found.dwfl_module_addrdie);
    find("dwarf_getscopes", &found.dwarf_getscopes);
    find("dwarf_getscopes_die", &found.dwarf_getscopes_die);
    find("dwarf_tag", &found.dwarf_tag);
    find("dwarf_diename", &found.dwarf_diename);
    find("dwarf_attr_integrate", &found.dwarf_attr_integrate);
    find("dwarf_formudata", &found.dwarf_formudata);
    find("dwarf_getsrcfiles", &found.dwarf_getsrcfiles);
    find("dwarf_filesrc", &found.dwarf_filesrc);
    return is_whole ? std::optional(found) : std::nullopt;
}

}  // namespace

const DwarfLibrary* dwarf_library() {
    static const std::optional<DwarfLibrary> library = load();
    return library ? &*library : nullptr;
}

}  // namespace peakline::report
