#include "torch_library.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocator/capture/libraries/build_id.h"
#include "allocator/capture/libraries/got_patch.h"
#include "allocator/capture/libraries/loader_walk.h"
#include "allocator/record/files/small_files.h"
#include "allocator/record/recorder.h"
#include "preload/hooks/cpu_hooks.h"
#include "preload/hooks/torch_hooks.h"
#include "preload/life/build_cache.h"
#include "preload/options/option_words.h"

namespace peakline::preload {
namespace {

using torch_part::Backend;
using torch_part::InstallResult;

constexpr char kAllocatorSymbol[] = "_ZN3c104cuda20CUDACachingAllocator9allocatorE";

bool read_version_line(const char* path, char* version, size_t room) {
    constexpr char kKey[] = "__version__ = '";
    char text[2048];
    text[record::read_file_slow(path, text, sizeof text - 1)] = '\0';
    char* value = strstr(text, kKey);
    if (value == nullptr) {
        return false;
    }
    value += sizeof kKey - 1;
    value[strcspn(value, "'\n")] = '\0';
    const size_t length = strnlen(value, room - 1);
    memcpy(version, value, length);
    version[length] = '\0';
    return true;
}

// Reads version.py, in the folder above that of the library.
bool read_torch_version(Installed& state, const char* library_path) {
    char path[kPathBytes];
    snprintf(path, sizeof path, "%s", library_path);
    char* slash = strrchr(path, '/');
    if (slash == nullptr) {
        return false;
    }
    snprintf(slash, sizeof path - static_cast<size_t>(slash - path), "/../version.py");
    if (!read_version_line(path, state.torch_version, sizeof state.torch_version)) {
        snprintf(state.torch_version, sizeof state.torch_version, "unknown");
    }
    return true;
}

bool exists(const char* path) {
    return access(path, R_OK) == 0;
}

void append_hex(char* out, size_t room, std::string_view bytes) {
    constexpr size_t kMostBytes = 8;
    for (const char byte : bytes.substr(0, kMostBytes)) {
        const size_t used = strlen(out);
        snprintf(out + used, room - used, "%02x", static_cast<unsigned char>(byte));
    }
}

struct BuildSearch {
    const void* within;
    char* name;
    size_t room;
};

// Identifies the loaded libc10_cuda.so, against whose classes the part was compiled: by build id,
// or by size and time of the file. library_build() in build_id.py does the same.
void name_torch_build(const void* within, const char* path, char* name, size_t room) {
    BuildSearch search{within, name, room};
    snprintf(name, room, "b");
    capture::walk_loaded_objects_slow(
        [](dl_phdr_info* library, size_t, void* data) {
            auto& asked = *static_cast<BuildSearch*>(data);
            if (!capture::holds(library, PT_LOAD, asked.within)) {
                return 0;
            }
            append_hex(asked.name, asked.room, capture::find_build_id(library));
            return 1;
        },
        &search);
    struct stat facts {};
    if (strlen(name) == 1 && stat(path, &facts) == 0) {
        snprintf(name,
                 room,
                 "s%llx-%llx",
                 static_cast<unsigned long long>(facts.st_size),
                 static_cast<unsigned long long>(facts.st_mtim.tv_sec));
    }
}

// Finds the part that the wheel of this library has for the loaded torch (shipped.py).
bool find_shipped_part(const Installed& state, char* path, size_t room) {
    Dl_info self{};
    const char* slash = nullptr;
    if (dladdr(reinterpret_cast<const void*>(&find_shipped_part), &self) != 0) {
        slash = strrchr(self.dli_fname, '/');
    }
    if (slash == nullptr) {
        return false;
    }
    snprintf(path,
             room,
             "%.*s/built/%s-%s/libpeakline_torch.so",
             static_cast<int>(slash - self.dli_fname),
             self.dli_fname,
             state.torch_version,
             state.torch_build);
    return exists(path);
}

// Finds the part for the loaded torch: named by the option, in the wheel, or in the cache, where
// `peakline run`, `peakline preload` or switch_allocator() built it. Returns false with the reason
// in state.note.
bool find_part(Installed& state, char* path, size_t room) {
    if (state.options.torch_part[0] != '\0') {
        snprintf(path, room, "%s", state.options.torch_part);
        if (!exists(path)) {
            snprintf(
                state.note, sizeof state.note, "PEAKLINE_TORCH_PART=%.160s cannot be read", path);
            return false;
        }
        return true;
    }
    if (find_shipped_part(state, path, room)) {
        return true;
    }
    char why[160] = "";
    char folder[kPathBytes - 192];
    char name[160];
    choose_cache_folder(state.options.cache_dir, folder, sizeof folder, why, sizeof why);
    name_of_part(state.torch_version, state.torch_build, name, sizeof name);
    snprintf(path, room, "%s/%s", folder, name);
    if (folder[0] == '\0' || !exists(path)) {
        snprintf(state.note,
                 sizeof state.note,
                 "nothing is built for torch %s; `peakline doctor --build` builds it%s%s",
                 state.torch_version,
                 why[0] != '\0' ? "; " : "",
                 why);
        return false;
    }
    if (!may_load(path, why, sizeof why)) {
        snprintf(state.note, sizeof state.note, "the part for torch is not loaded: %s", why);
        return false;
    }
    return true;
}

torch_part::InstallFunction load_part(Installed& state) {
    char path[kPathBytes];
    if (!find_part(state, path, sizeof path)) {
        return nullptr;
    }
    void* part = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (part == nullptr) {
        snprintf(state.note, sizeof state.note, "cannot load %.80s: %.120s", path, dlerror());
        return nullptr;
    }
    const auto* const build = static_cast<const char*>(dlsym(part, torch_part::kBuildSymbol));
    if (build == nullptr || strcmp(build, state.torch_build) != 0) {
        snprintf(state.note,
                 sizeof state.note,
                 "the part built for torch is of another build of torch %s; `peakline doctor "
                 "--build` rebuilds it",
                 state.torch_version);
        dlclose(part);
        return nullptr;
    }
    state.allocator_is_ours =
        reinterpret_cast<torch_part::IsCurrentFunction>(dlsym(part, torch_part::kIsCurrentSymbol));
    return reinterpret_cast<torch_part::InstallFunction>(dlsym(part, torch_part::kInstallSymbol));
}

Backend backend_of(Installed& state) {
    const BackendWord* const row = find_word(kBackends, state.options.backend);
    if (row != nullptr) {
        return row->backend;
    }
    char known[160];
    list_words(kBackends, known, sizeof known);
    snprintf(state.note,
             sizeof state.note,
             "unknown backend '%s'; known: %s",
             state.options.backend,
             known);
    return kBackends[0].backend;
}

}  // namespace

// The name begins like all our libraries: their frames and imports are not the program's.
void name_of_part(const char* version, const char* build, char* name, size_t room) {
    snprintf(name,
             room,
             "libpeakline_torch-%s-i%u-%s.so",
             version,
             torch_part::kInterfaceVersion,
             build);
}

bool torch_is_loaded() {
    return capture::find_in_loaded("libc10_cuda.so", kAllocatorSymbol) != nullptr;
}

bool find_torch(Installed& state) {
    void* allocator = capture::find_in_loaded("libc10_cuda.so", kAllocatorSymbol);
    Dl_info info{};
    if (allocator == nullptr || dladdr(allocator, &info) == 0) {
        return false;
    }
    name_torch_build(allocator, info.dli_fname, state.torch_build, sizeof state.torch_build);
    return read_torch_version(state, info.dli_fname);
}

bool install_torch_part(Installed& state, bool* is_late, char* message, size_t room) {
    *is_late = false;
    if (!find_torch(state)) {
        snprintf(message, room, "torch with CUDA is not loaded: import torch first");
        return false;
    }
    const Backend wanted = backend_of(state);
    const torch_part::InstallFunction install = load_part(state);
    Backend used = wanted;
    if (install != nullptr) {
        const InstallResult result = install(&torch_host(), wanted, &torch_part_slot());
        if (result == InstallResult::kAlreadyInitialised) {
            used = Backend::kObserve;
            *is_late = true;
        } else if (result == InstallResult::kOverProgramsAllocator) {
            snprintf(state.note,
                     sizeof state.note,
                     "the program installed its own allocator: its blocks are recorded with "
                     "their requested sizes, and torch's counters do not exist under it");
            used = Backend::kDelegate;
        } else if (result != InstallResult::kInstalled) {
            snprintf(state.note,
                     sizeof state.note,
                     "the part built for torch is of another "
                     "version; `peakline doctor --build` rebuilds it");
            used = Backend::kObserve;
            *is_late = true;
        }
    } else {
        used = Backend::kObserve;
        *is_late = true;
    }
    for (const BackendWord& row : kBackends) {
        if (row.backend == used) {
            snprintf(state.backend, sizeof state.backend, "%s", row.name);
            break;
        }
    }
    record::Recorder::instance().begin_adoption();
    const char* reason = nullptr;
    if (!hook_torch_imports(&reason) && used == Backend::kObserve) {
        snprintf(message, room, "torch %s cannot be recorded: %s", state.torch_version, reason);
        return false;
    }
    if (*is_late && torch_part_slot().attach_tracker != nullptr) {
        torch_part_slot().attach_tracker();  // the calls are not hooked, so requested sizes need it
    }
    return true;
}

namespace {

// A torch without CUDA has no part, so autograd nodes and scopes are not recorded.
void observe_torch(Installed& state) {
    if (!find_torch(state)) {
        Dl_info info{};
        if (dladdr(capture::find_in_loaded("libc10.so", kCpuAllocSymbol), &info) != 0) {
            read_torch_version(state, info.dli_fname);
        }
        snprintf(state.note,
                 sizeof state.note,
                 "this torch has no CUDA: blocks of the backward pass have the line of backward(), "
                 "and steps of optimizers are not known");
    } else if (backend_of(state) != Backend::kObserve) {
        if (const torch_part::InstallFunction install = load_part(state)) {
            install(&torch_host(), Backend::kObserve, &torch_part_slot());
        }
    }
}

}  // namespace

bool install_cpu(Installed& state, char* message, size_t room) {
    observe_torch(state);
    const char* reason = "";
    if (!hook_autograd(&reason) || !hook_cpu_allocator(&reason)) {
        snprintf(message, room, "CPU tensors of torch %s: %s", state.torch_version, reason);
        return false;
    }
    return true;
}

}  // namespace peakline::preload
