// Which frame of a stack stands for it: the innermost one, or the innermost one that belongs to
// the user. The rules of what is not the user's are one table, in frame_policy.cpp.
#pragma once

#include <string>
#include <vector>

#include "module_names.h"

namespace peakline::report {

enum class FrameChoice { kLeaf, kUser };

struct FramePolicy {
    FrameChoice choice = FrameChoice::kLeaf;
    // More files to pass over, with either choice: globs for the whole path or its last part.
    std::vector<std::string> hidden_globs;
    // Where files of native modules are looked for when they are not in their places.
    std::vector<std::string> symbol_folders;
    // For rows of modules.
    ModuleFolding modules;
};

// Whether frames of this file are passed over.
bool is_hidden_file(const FramePolicy& policy, const std::string& file);

}  // namespace peakline::report
