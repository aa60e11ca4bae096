// Chooses the frame that reports show for a stack: the innermost one, the innermost one outside
// torch, or the innermost one of the user. The rules are tables in frame_policy.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/attribute/names/module_names.h"
#include "report/attribute/names/option_word.h"

namespace peakline::report {

// In the order of frame_words().
enum class FrameChoice {
    kCaller,  // the line that called torch: of the program or of a library it uses
    kLeaf,
    kUser,
};

struct FramePolicy {
    FrameChoice choice = FrameChoice::kCaller;
    // Whole stacks begin with their native frames.
    bool shows_native = false;
    // Additional files to pass over, for all choices: globs for the whole path or its last part.
    std::vector<std::string> hidden_globs;
    // Additional folders to search for the files of native modules.
    std::vector<std::string> symbol_folders;
    // For rows of modules.
    ModuleFolding modules;
};

// Returns "torch/nn/functional.py" for an installed file; empty: it is not installed. The files of
// a package installed for editing are in its author's folder.
std::string path_in_packages(const std::string& file);

// Whether torch.compile's inductor generated the file, in whatever folder.
bool is_inductors_file(const std::string& file);

// The values of --frame: "caller", "leaf", "user".
std::span<const OptionWord> frame_words();
const char* frame_choice_name(FrameChoice choice);

// Whether --hide passes over frames of this file.
bool is_hidden_by_option(const FramePolicy& policy, const std::string& file);
// Whether the policy passes over frames of this file.
bool is_hidden_file(const FramePolicy& policy, const std::string& file);
// The same for a function in a file that is not hidden.
bool passes_over_function(const FramePolicy& policy,
                          const std::string& file,
                          std::string_view function);

// Whether the file is of the program itself, by --frame user.
bool is_users_file(const std::string& file);

// Whether the frame is of an installed package and only passes a call on; independent of the
// policy.
bool is_wrapper(const std::string& file, std::string_view function);

}  // namespace peakline::report
