// Which frame of a stack stands for it: the innermost one, the innermost one outside torch, or the
// innermost one that belongs to the user. The rules are tables in frame_policy.cpp.
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
    // More files to pass over, with either choice: globs for the whole path or its last part.
    std::vector<std::string> hidden_globs;
    // Where files of native modules are looked for when they are not in their places.
    std::vector<std::string> symbol_folders;
    // For rows of modules.
    ModuleFolding modules;
};

// "torch/nn/functional.py" of an installed file; empty: it is not installed. A package that is
// installed for editing lies where its author works on it.
std::string path_in_packages(const std::string& file);

// What --frame takes: "caller", "leaf", "user".
std::span<const OptionWord> frame_words();
const char* frame_choice_name(FrameChoice choice);

// Whether frames of this file are passed over because --hide says so.
bool is_hidden_by_option(const FramePolicy& policy, const std::string& file);
// Whether frames of this file are passed over when the frame is chosen.
bool is_hidden_file(const FramePolicy& policy, const std::string& file);
// The same of a function in a file that is not hidden.
bool passes_over_function(const FramePolicy& policy,
                          const std::string& file,
                          std::string_view function);

// Whether the frame is of an installed package and only hands a call on; whatever the policy.
bool is_wrapper(const std::string& file, std::string_view function);

}  // namespace peakline::report
