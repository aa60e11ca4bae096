// The files of modules with their symbols, shared by all concurrent reports of the process: reading
// those of torch takes longer than most traces. Used by native_symbols only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "elf_image.h"
#include "symbol_table.h"

namespace peakline::report {

// Constant after construction, so several threads may read it.
struct ModuleFile {
    // Without a build id, nothing shows whether this file is the recorded one.
    ModuleFile(const std::string& path, const std::string& build_id);

    MappedFile file;
    ElfImage image;
    std::optional<SymbolTable> table;  // only if the file is the recorded one
};

// Reads the file, or returns the copy of another report or of KeptModules. Any thread may call.
std::shared_ptr<const ModuleFile> open_module(const std::string& path, const std::string& build_id);

// While an instance exists, loaded files stay loaded. Any thread may use it.
class KeptModules {
public:
    KeptModules();
    ~KeptModules();
    KeptModules(const KeptModules&) = delete;
    KeptModules& operator=(const KeptModules&) = delete;
};

}  // namespace peakline::report
