// Names of the native frames of a trace, from the files of this machine. One object serves one
// report and one thread; modules are loaded on first use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/trace/definitions/definitions.h"
#include "source_lines.h"

namespace peakline::report {

class FileIndex;
class SymbolTable;

class NativeSymbols {
public:
    // `definitions` must outlive the object. `folders`: additional folders to search for the files
    // of modules, at any depth, by name, or by build id in the layout that debuggers use.
    explicit NativeSymbols(const Definitions& definitions, std::vector<std::string> folders = {});
    NativeSymbols(NativeSymbols&&) noexcept;
    NativeSymbols& operator=(NativeSymbols&&) = delete;
    ~NativeSymbols();

    // The demangled function of a frame; "libtorch_cpu.so+0x1234" when it has no name here. Valid
    // as long as the object.
    const std::string& name(uint32_t native_frame_id);
    // The source lines of the frame's code, innermost function first; empty if its module's file
    // has no debug information. Valid as long as the object.
    const std::vector<SourceLine>& lines(uint32_t native_frame_id);
    // The file of the frame's library or executable; "(executable)" if its path is unknown, empty
    // for code outside of any file. Valid as long as the object.
    const std::string& path(uint32_t native_frame_id) const;
    // Whether the frame belongs to the recorder. Such frames are innermost on every stack and are
    // no part of the program.
    bool is_recorder(uint32_t native_frame_id) const;
    // Number of modules whose file is missing or is not the recorded one. Excludes modules without
    // a file, such as the kernel's, and those looked up only while an Uncounted exists.
    uint64_t unmatched_module_count() const { return unmatched_module_count_; }

    // While an instance exists, lookups do not count modules: the looked-up names only add to a row
    // that is complete without them. Not nested.
    class Uncounted {
    public:
        explicit Uncounted(NativeSymbols& symbols) : symbols_(symbols) {
            symbols_.is_counting_ = false;
        }
        ~Uncounted() { symbols_.is_counting_ = true; }
        Uncounted(const Uncounted&) = delete;
        Uncounted& operator=(const Uncounted&) = delete;

    private:
        NativeSymbols& symbols_;
    };

private:
    struct LoadedModule;
    // nullptr when the module has no file, or another one.
    const SymbolTable* table_of(uint32_t module_id);
    std::unique_ptr<LoadedModule> find_elsewhere(const std::string& path,
                                                 const std::string& build_id);
    std::string make_name(const NativeFrame& frame);

    const std::string& module_path(uint32_t module_id) const;

    const Definitions& definitions_;
    std::string executable_;
    std::vector<std::string> folders_;
    std::unique_ptr<FileIndex> files_;                    // index of the folders; made on first use
    std::vector<std::unique_ptr<LoadedModule>> modules_;  // by module id
    std::unordered_map<uint32_t, std::string> names_;     // by frame id
    std::unordered_map<uint32_t, std::vector<SourceLine>> lines_;  // the same
    bool is_counting_ = true;
    uint64_t unmatched_module_count_ = 0;
};

// "at::empty(...)" of "_ZN2at5emptyE..."; the text itself when it is not a mangled name.
std::string demangle(std::string_view mangled);

}  // namespace peakline::report
