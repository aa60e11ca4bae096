#include "native_symbols.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include <cxxabi.h>

#include "file_index.h"
#include "frame_names.h"
#include "module_files.h"

namespace peakline::report {
namespace {

// Longer names slow the demangler down and nobody reads them; torch's longest are shorter.
constexpr size_t kMaxMangledBytes = 16384;

}  // namespace

struct NativeSymbols::LoadedModule {
    LoadedModule(const std::string& file_path, const std::string& build_id)
        : path(file_path), module(open_module(file_path, build_id)) {}

    const SymbolTable* table() const { return module->table ? &*module->table : nullptr; }

    std::string path;
    std::shared_ptr<const ModuleFile> module;
    std::optional<SourceLines> lines;  // made on first use
    bool is_counted = false;           // as unmatched
};

NativeSymbols::NativeSymbols(const Definitions& definitions, std::vector<std::string> folders)
    : definitions_(definitions),
      executable_(definitions.meta_text("executable")),
      folders_(std::move(folders)) {}
NativeSymbols::NativeSymbols(NativeSymbols&&) noexcept = default;
NativeSymbols::~NativeSymbols() = default;

std::string demangle(std::string_view mangled) {
    std::string text(mangled);
    if (text.compare(0, 2, "_Z") != 0 || text.size() > kMaxMangledBytes) {
        return text;
    }
    int status = 0;
    char* demangled = abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status);
    std::string result = status == 0 && demangled != nullptr ? demangled : text;
    std::free(demangled);
    return result;
}

const std::string& NativeSymbols::module_path(uint32_t module_id) const {
    // The loader gives the executable an empty name; see module_map.cpp.
    static constexpr std::string_view kExecutable = "(executable)";
    const std::string& path = definitions_.strings[definitions_.modules[module_id].path];
    return path == kExecutable && !executable_.empty() ? executable_ : path;
}

const std::string& NativeSymbols::path(uint32_t native_frame_id) const {
    return module_path(definitions_.native_frames[native_frame_id].module);
}

const SymbolTable* NativeSymbols::table_of(uint32_t module_id) {
    if (!definitions_.modules.has(module_id)) {
        return nullptr;
    }
    if (module_id >= modules_.size()) {
        modules_.resize(module_id + 1);
    }
    const Module& module = definitions_.modules[module_id];
    const std::string& path = module_path(module_id);
    std::unique_ptr<LoadedModule>& loaded = modules_[module_id];
    if (path.empty() || path[0] != '/') {
        return nullptr;
    }
    if (loaded == nullptr) {
        loaded = std::make_unique<LoadedModule>(path, module.build_id_bytes);
        if (loaded->table() == nullptr && !module.build_id_bytes.empty() && !folders_.empty()) {
            loaded = find_elsewhere(path, module.build_id_bytes);
        }
    }
    if (is_counting_ && !loaded->is_counted && loaded->table() == nullptr) {
        loaded->is_counted = true;
        ++unmatched_module_count_;
    }
    return loaded->table();
}

// Returns the last candidate, even if it does not match: such a file has no table.
std::unique_ptr<NativeSymbols::LoadedModule> NativeSymbols::find_elsewhere(
    const std::string& path, const std::string& build_id) {
    if (files_ == nullptr) {
        files_ = std::make_unique<FileIndex>(folders_);
    }
    auto found = std::make_unique<LoadedModule>(std::string(), build_id);
    for (const std::string& candidate : files_->candidates(path, build_id)) {
        found = std::make_unique<LoadedModule>(candidate, build_id);
        if (found->table() != nullptr) {
            break;
        }
    }
    return found;
}

std::string NativeSymbols::make_name(const NativeFrame& frame) {
    const SymbolTable* table = table_of(frame.module);
    if (table != nullptr && frame.address != 0) {
        const std::string_view found = table->find(frame.address - 1);
        if (!found.empty()) {
            return demangle(found);
        }
    }
    const std::string& path = module_path(frame.module);
    if (path == kLostName) {
        return path;
    }
    char offset[32];
    std::snprintf(
        offset, sizeof(offset), "+0x%llx", static_cast<unsigned long long>(frame.address));
    return std::string(path.empty() ? "unknown module" : file_name_of(path)) + offset;
}

const std::vector<SourceLine>& NativeSymbols::lines(uint32_t native_frame_id) {
    const auto [at, is_new] = lines_.try_emplace(native_frame_id);
    const NativeFrame& frame = definitions_.native_frames[native_frame_id];
    if (is_new && frame.address != 0 && table_of(frame.module) != nullptr) {
        LoadedModule& loaded = *modules_[frame.module];
        if (!loaded.lines) {
            loaded.lines.emplace(loaded.path);
        }
        at->second = loaded.lines->find(frame.address - 1);
    }
    return at->second;
}

bool NativeSymbols::is_recorder(uint32_t native_frame_id) const {
    const std::string& path = this->path(native_frame_id);
    constexpr std::string_view kOwnLibraries = "/libpeakline";
    const size_t slash = path.rfind('/');
    return slash != std::string::npos &&
           path.compare(slash, kOwnLibraries.size(), kOwnLibraries) == 0;
}

const std::string& NativeSymbols::name(uint32_t native_frame_id) {
    const auto [at, is_new] = names_.try_emplace(native_frame_id);
    const NativeFrame& frame = definitions_.native_frames[native_frame_id];
    if (is_new) {
        at->second = make_name(frame);
    } else {
        // counts the module, if the name was made while an Uncounted existed
        table_of(frame.module);
    }
    return at->second;
}

}  // namespace peakline::report
