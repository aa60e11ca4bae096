// The files of modules with their symbols, shared by all reports of the process that are made at
// one time: reading those of torch takes longer than most traces. Used by native_symbols only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "elf_image.h"
#include "symbol_table.h"

namespace peakline::report {

// Constant once it is made, so several threads may read it.
struct ModuleFile {
    // Without a build id it is not known whether this file is the one that was recorded.
    ModuleFile(const std::string& path, const std::string& build_id);

    MappedFile file;
    ElfImage image;
    std::optional<SymbolTable> table;  // of a file that is the recorded one
};

// Reads the file, or gives the one that another report has or KeptModules keeps. Any thread.
std::shared_ptr<const ModuleFile> open_module(const std::string& path, const std::string& build_id);

// While one lives, what was read stays. Any thread.
class KeptModules {
public:
    KeptModules();
    ~KeptModules();
    KeptModules(const KeptModules&) = delete;
    KeptModules& operator=(const KeptModules&) = delete;
};

}  // namespace peakline::report
