#include "module_files.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace peakline::report {
namespace {

struct Shared {
    std::mutex mutex;
    // Guarded by `mutex`.
    std::map<std::pair<std::string, std::string>, std::weak_ptr<const ModuleFile>> known;
    std::vector<std::shared_ptr<const ModuleFile>> kept;
    size_t keeper_count = 0;
};

// Never destroyed: a report may end after the process has destroyed its globals.
Shared& shared() {
    static Shared* const instance = new Shared;
    return *instance;
}

}  // namespace

ModuleFile::ModuleFile(const std::string& path, const std::string& build_id)
    : file(path), image(file.bytes()) {
    if (!build_id.empty() && image.build_id() == build_id) {
        table.emplace(image);
    }
}

std::shared_ptr<const ModuleFile> open_module(const std::string& path,
                                              const std::string& build_id) {
    Shared& all = shared();
    // Held while the file is read: another thread that needs it would read it again.
    const std::lock_guard lock(all.mutex);
    std::weak_ptr<const ModuleFile>& known = all.known[{path, build_id}];
    std::shared_ptr<const ModuleFile> module = known.lock();
    if (module == nullptr) {
        module = std::make_shared<const ModuleFile>(path, build_id);
        known = module;
        // Keep no missing file: it may exist next time.
        if (all.keeper_count > 0 && module->table.has_value()) {
            all.kept.push_back(module);
        }
    }
    return module;
}

KeptModules::KeptModules() {
    const std::lock_guard lock(shared().mutex);
    ++shared().keeper_count;
}

KeptModules::~KeptModules() {
    std::vector<std::shared_ptr<const ModuleFile>> unused;
    const std::lock_guard lock(shared().mutex);
    if (--shared().keeper_count == 0) {
        unused.swap(shared().kept);
    }
}

}  // namespace peakline::report
