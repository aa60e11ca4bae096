#include "frame_policy.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fnmatch.h>

#include "report/symbols/frame_names.h"

namespace peakline::report {
namespace {

// All rules are in these tables; FRAMES.md explains them. `*` matches any characters, also `/`.

// The folder that inductor chooses for its files if the user chooses none.
constexpr const char* kInductorFolder = "*/torchinductor_*";

// Files of neither the user nor a library that uses torch.
constexpr const char* kNotUserCode[] = {
    // The standard library, in any installation of Python.
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
    // Code that torch.compile, triton and libraries generate. The user's typed code has such names,
    // too: <stdin>, <string>, <ipython-input-1-...>.
    "*/.triton/cache/*",
    "<eval_with_key>*",
    "fx_generated_*",
    "*/torch_geometric.nn.*.py",
    "<decorator-gen-*",
    "<attrs generated *",
    "<__array_function__ *",
    // Debuggers, which come with editors.
    "*/debugpy/*",
    "*/_pydevd_bundle/*",
    "*/pydevd.py",
    // peakline itself, when it runs from its sources.
    "*/pyhook/peakline/*",
};

// Installed packages, and parts of them, that only pass calls on to torch, or replace its operators
// and layers: the line that calls them is more useful.
constexpr const char* kPassThrough[] = {
    "torch/*",
    "torchgen/*",
    "triton/*",
    // Wrappers of calls.
    "accelerate/*",
    "decorator.py",
    "wrapt/*",
    "beartype/*",
    "jaxtyping/*",
    "typeguard/*",
    "transformers/utils/*",
    "transformers/integrations/*",
    "transformers/modeling_layers.py",
    "peft/utils/*",
    "peft/peft_model.py",
    "peft/tuners/tuners_utils.py",
    "diffusers/utils/*",
    "diffusers/hooks/*",
    "deepspeed/utils/*",
    "*lightning*/wrappers.py",
    "*lightning*/strategies/*",
    "*lightning*/plugins/*",
    "*lightning*/core/optimizer.py",
    "*lightning*/mixins/*",
    // Layers and operators.
    "transformers/pytorch_utils.py",
    "transformers/activations.py",
    "einops/*",
    "opt_einsum/*",
    "safetensors/*",
    "bitsandbytes/*",
    "flash_attn/*",
    "xformers/*",
    "causal_conv1d/*",
    "mamba_ssm/ops/*",
    "liger_kernel/*",
};

// Functions that only pass calls on, in files that have others, too. "*" in the file as above.
struct PassThroughFunction {
    const char* file;
    std::string_view function;
};
constexpr PassThroughFunction kPassThroughFunctions[] = {
    {"transformers/modeling_utils.py", "cuda"},
    {"transformers/modeling_utils.py", "to"},
    {"diffusers/models/modeling_utils.py", "to"},
    {"diffusers/pipelines/pipeline_utils.py", "to"},
};

// Functions of packages between a caller and its callee, which pictures of stacks leave out.
constexpr std::string_view kWrappers[] = {"_call_impl",
                                          "_wrapped_call_impl",
                                          "wrapper",
                                          "wrapped",
                                          "wrapped_func",
                                          "_use_grad",
                                          "inner",
                                          "decorate_context",
                                          "decorate_autocast",
                                          "_fn",
                                          "<lambda>"};

bool matches(const char* glob, const std::string& text) {
    return fnmatch(glob, text.c_str(), 0) == 0;
}

// inductor's files are named "c" and 51 characters of a hash in base 32, in a folder that the user
// chooses.
bool is_named_by_inductor(std::string_view last_part) {
    constexpr std::string_view kHashed = "abcdefghijklmnopqrstuvwxyz234567";
    constexpr size_t kNameLength = 52;
    return last_part.size() == kNameLength + 3 && last_part[0] == 'c' &&
           last_part.find_first_not_of(kHashed) == kNameLength && last_part.ends_with(".py");
}

template <size_t kCount>
bool matches_any(const char* const (&globs)[kCount], const std::string& text) {
    return std::any_of(
        std::begin(globs), std::end(globs), [&](const char* glob) { return matches(glob, text); });
}

}  // namespace

std::string path_in_packages(const std::string& file) {
    for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
        const size_t found = file.rfind(folder);
        if (found != std::string::npos) {
            return file.substr(found + folder.size());
        }
    }
    return {};
}

std::span<const OptionWord> frame_words() {
    static constexpr OptionWord kWords[] = {
        {"caller", "the innermost one outside torch and wrappers, with the operator it called"},
        {"leaf", "the innermost one of all"},
        {"user", "the innermost one outside all libraries"},
    };
    return kWords;
}

const char* frame_choice_name(FrameChoice choice) {
    return frame_words()[static_cast<size_t>(choice)].name;
}

bool is_inductors_file(const std::string& file) {
    return matches(kInductorFolder, file) || is_named_by_inductor(file_name_of(file));
}

bool is_hidden_by_option(const FramePolicy& policy, const std::string& file) {
    return std::any_of(
        policy.hidden_globs.begin(), policy.hidden_globs.end(), [&](const std::string& glob) {
            return matches(glob.c_str(), file) ||
                   matches(glob.c_str(), std::string(file_name_of(file)));
        });
}

bool is_hidden_file(const FramePolicy& policy, const std::string& file) {
    if (is_hidden_by_option(policy, file)) {
        return true;
    }
    if (policy.choice == FrameChoice::kLeaf) {
        return false;
    }
    const std::string in_packages = path_in_packages(file);
    if (policy.choice == FrameChoice::kCaller && !in_packages.empty()) {
        return matches_any(kPassThrough, in_packages);
    }
    return !in_packages.empty() || matches_any(kNotUserCode, file) || is_inductors_file(file);
}

bool is_users_file(const std::string& file) {
    FramePolicy only_users;
    only_users.choice = FrameChoice::kUser;
    return !file.empty() && !is_hidden_file(only_users, file);
}

bool passes_over_function(const FramePolicy& policy,
                          const std::string& file,
                          std::string_view function) {
    return policy.choice == FrameChoice::kCaller &&
           std::any_of(std::begin(kPassThroughFunctions),
                       std::end(kPassThroughFunctions),
                       [&](const PassThroughFunction& rule) {
                           return rule.function == function &&
                                  matches(rule.file, path_in_packages(file));
                       });
}

bool is_wrapper(const std::string& file, std::string_view function) {
    return std::find(std::begin(kWrappers), std::end(kWrappers), function) != std::end(kWrappers) &&
           !path_in_packages(file).empty();
}

}  // namespace peakline::report
