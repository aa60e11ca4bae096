// Names of module instances in rows: the path of named_modules(), folded by the options.
#pragma once

#include <cstdint>
#include <string>

#include "report/trace/definitions/definitions.h"

namespace peakline::report {

struct ModuleFolding {
    uint32_t depth = 0;     // number of parts of a path to keep; 0: all
    bool repeated = false;  // layers of a list become one: h.3.mlp is h.*.mlp
};

// Returns `path` folded.
std::string fold_path(const std::string& path, const ModuleFolding& folding);

// Whether more than one model has named modules: then paths begin with the model's name.
bool has_several_models(const Definitions& definitions);

// Returns "transformer.h.3", even if no module is known there; an empty path is the model itself.
std::string module_path_name(const Definitions& definitions,
                             uint32_t root,
                             const std::string& path,
                             const ModuleFolding& folding,
                             bool with_model);

// Returns "transformer.h.3.mlp"; the class for a model itself; "Linear (unnamed)" for a module that
// had no name while it lived. `instance` is not 0.
std::string module_name(const Definitions& definitions,
                        uint32_t instance,
                        const ModuleFolding& folding,
                        bool with_model);

}  // namespace peakline::report
