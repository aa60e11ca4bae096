#include "source_lines.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "dwarf_library.h"

namespace peakline::report {
namespace {

// Stops libdw from searching for debug files elsewhere and requesting them from servers.
int find_none(void*, void**, const char*, uint64_t, const char*, const char*, uint32_t, char**) {
    return -1;
}

std::optional<uint64_t> number_of(const DwarfLibrary& library, DwarfDie* die, unsigned name) {
    DwarfAttribute attribute{};
    uint64_t number = 0;
    if (library.dwarf_attr_integrate(die, name, &attribute) == nullptr ||
        library.dwarf_formudata(&attribute, &number) != 0) {
        return std::nullopt;
    }
    return number;
}

// The call site of an inlined function.
SourceLine call_of(const DwarfLibrary& library, DwarfDie* unit, DwarfDie* inlined) {
    SourceLine call;
    void* files = nullptr;
    size_t count = 0;
    const auto file = number_of(library, inlined, kAttributeCallFile);
    const auto line = number_of(library, inlined, kAttributeCallLine);
    if (file && line && library.dwarf_getsrcfiles(unit, &files, &count) == 0 && *file < count) {
        const char* const path = library.dwarf_filesrc(files, *file, nullptr, nullptr);
        call.file = path != nullptr ? path : "";
        call.line = static_cast<uint32_t>(*line);
    }
    return call;
}

// Returns the innermost scope and its enclosing scopes, up to the unit. The caller frees them.
// dwarf_getscopes() continues from an inlined function to its declaration, not to its caller.
int scopes_around(const DwarfLibrary& library, DwarfDie* unit, uint64_t at, DwarfDie** scopes) {
    DwarfDie* found = nullptr;
    int count = library.dwarf_getscopes(unit, at, &found);
    if (count > 0) {
        DwarfDie innermost = found[0];
        count = library.dwarf_getscopes_die(&innermost, scopes);
    }
    std::free(found);
    return count;
}

}  // namespace

struct SourceLines::Session {
    Session(const DwarfLibrary& functions, const std::string& path) : library(functions) {
        callbacks.find_debug_info = find_none;
        callbacks.section_address = functions.section_address;
        dwfl = library.dwfl_begin(&callbacks);
        if (dwfl != nullptr) {
            module = library.dwfl_report_offline(dwfl, "", path.c_str(), -1);
            library.dwfl_report_end(dwfl, nullptr, nullptr);
        }
        if (module != nullptr && library.dwfl_module_getdwarf(module, &bias) == nullptr) {
            module = nullptr;
        }
    }
    ~Session() {
        if (dwfl != nullptr) {
            library.dwfl_end(dwfl);
        }
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const DwarfLibrary& library;
    DwflCallbacks callbacks{};
    void* dwfl = nullptr;
    void* module = nullptr;
    uint64_t bias = 0;  // offset of addresses in dwfl
};

SourceLines::SourceLines(const std::string& path) {
    if (const DwarfLibrary* const library = dwarf_library()) {
        session_ = std::make_unique<Session>(*library, path);
        if (session_->module == nullptr) {
            session_.reset();
        }
    }
}
SourceLines::SourceLines(SourceLines&&) noexcept = default;
SourceLines::~SourceLines() = default;

std::vector<SourceLine> SourceLines::find(uint64_t address) const {
    std::vector<SourceLine> lines;
    if (session_ == nullptr) {
        return lines;
    }
    const DwarfLibrary& library = session_->library;
    const uint64_t biased = address + session_->bias;
    // Code without debug information, such as the code before main, is in no function: a line found
    // for it would be another function's.
    uint64_t unit_bias = 0;
    DwarfDie* const unit = library.dwfl_module_addrdie(session_->module, biased, &unit_bias);
    if (unit == nullptr) {
        return lines;
    }
    void* const found = library.dwfl_module_getsrc(session_->module, biased);
    int number = 0;
    const char* const file =
        found != nullptr ? library.dwfl_lineinfo(found, nullptr, &number, nullptr, nullptr, nullptr)
                         : nullptr;
    if (file == nullptr || number <= 0) {
        return lines;
    }
    lines.push_back({file, static_cast<uint32_t>(number), {}});
    DwarfDie* scopes = nullptr;
    const int count = scopes_around(library, unit, biased - unit_bias, &scopes);
    bool is_in_function = false;
    for (int i = 0; i < count; ++i) {
        const int tag = library.dwarf_tag(&scopes[i]);
        is_in_function = is_in_function || tag == kTagFunction;
        if (tag == kTagInlinedSubroutine) {
            const char* const name = library.dwarf_diename(&scopes[i]);
            lines.back().function = name != nullptr ? name : "";
            lines.push_back(call_of(library, unit, &scopes[i]));
        }
    }
    std::free(scopes);
    return is_in_function ? lines : std::vector<SourceLine>();
}

}  // namespace peakline::report
