#include "frame_policy.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fnmatch.h>

namespace peakline::report {
namespace {

// Not the user's code: the only table of it; FRAMES.md says it in words. `*` matches any
// characters, also `/`.
constexpr const char* kNotUserCode[] = {
    // Installed packages. One that is installed for editing lies where its author works on it.
    "*/site-packages/*",
    "*/dist-packages/*",
    // The standard library, wherever Python is installed.
    "*/lib/python[23].*",
    "*/lib64/python[23].*",
    "*/python[23]*.zip/*",
    "<frozen *",
    // torch built in place: its sources are outside site-packages.
    "*/torch/nn/*",
    "*/torch/autograd/*",
    "*/torch/optim/*",
    "*/torch/utils/*",
    "*/torch/distributed/*",
    "*/torch/cuda/*",
    "*/torch/_[a-z]*",
    "*/torch/__init__.py",
    "*/torch/functional.py",
    "*/torchgen/*",
    // Code that torch.compile, triton and libraries generate. What the user types has names, too:
    // <stdin>, <string>, <ipython-input-1-...>.
    "*/torchinductor_*",
    "*/.triton/cache/*",
    "<eval_with_key>*",
    "<decorator-gen-*",
    "<attrs generated *",
    "<__array_function__ *",
    // Debuggers, which editors bring along.
    "*/debugpy/*",
    "*/_pydevd_bundle/*",
    "*/pydevd.py",
    // peakline itself, when it runs from its sources.
    "*/pyhook/peakline/*",
};

bool matches(const char* glob, const std::string& text) {
    return fnmatch(glob, text.c_str(), 0) == 0;
}

// inductor's files are "c" and 51 characters of a hash in base 32, in a folder of the user's
// choice.
bool is_named_by_inductor(const std::string& last_part) {
    constexpr std::string_view kHashed = "abcdefghijklmnopqrstuvwxyz234567";
    constexpr size_t kNameLength = 52;
    return last_part.size() == kNameLength + 3 && last_part[0] == 'c' &&
           last_part.find_first_not_of(kHashed) == kNameLength && last_part.ends_with(".py");
}

}  // namespace

bool is_hidden_file(const FramePolicy& policy, const std::string& file) {
    const std::string last_part = file.substr(file.rfind('/') + 1);
    const bool hidden_by_option = std::any_of(
        policy.hidden_globs.begin(), policy.hidden_globs.end(), [&](const std::string& glob) {
            return matches(glob.c_str(), file) || matches(glob.c_str(), last_part);
        });
    if (hidden_by_option || policy.choice == FrameChoice::kLeaf) {
        return hidden_by_option;
    }
    return is_named_by_inductor(last_part) ||
           std::any_of(std::begin(kNotUserCode), std::end(kNotUserCode), [&](const char* glob) {
               return matches(glob, file);
           });
}

}  // namespace peakline::report
