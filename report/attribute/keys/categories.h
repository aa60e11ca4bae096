// The table of categories: names, order and colours. --by category, the page's stacking order and
// style, and the figures of `peakline plot` come from here; Python reads it as _report.CATEGORIES.
#pragma once

#include <cstdint>
#include <iterator>

namespace peakline::report {

// In stacking order, from below. 0: the report needs no category.
enum class Category : uint32_t {
    kUntraced = 1,
    kParameter,
    kBuffer,
    kOptimizerState,
    kCache,
    kKept,
    kGradient,
    kInput,
    kActivation,
    kCommunication,
    kWorkspace,
    kTemporary,
    kGraphWarmUp,
    kCompilation,
    kAutotuning,
    kUnknown,
};

// Two colours of the web, for a light and a dark background.
struct ThemeColours {
    const char* light;
    const char* dark;
};

// tests/page/test_colours.py checks that the colours differ for every kind of vision.
struct CategoryRow {
    Category category;
    const char* name;
    ThemeColours fill;
    ThemeColours text;  // of text on the fill
};

inline constexpr CategoryRow kCategories[] = {
    {Category::kUntraced, "untraced", {"#9ba2ad", "#656e7b"}, {"#111111", "#ffffff"}},
    {Category::kParameter, "parameter", {"#3860b5", "#6394dd"}, {"#ffffff", "#111111"}},
    {Category::kBuffer, "buffer", {"#1a2c43", "#718092"}, {"#ffffff", "#111111"}},
    {Category::kOptimizerState, "optimizer state", {"#522880", "#8050a5"}, {"#ffffff", "#ffffff"}},
    {Category::kCache, "cache", {"#2a87aa", "#5eb9db"}, {"#111111", "#111111"}},
    {Category::kKept, "kept", {"#868c96", "#7d8694"}, {"#111111", "#111111"}},
    {Category::kGradient, "gradient", {"#b64c04", "#b55c18"}, {"#ffffff", "#ffffff"}},
    {Category::kInput, "input", {"#1f4e12", "#7da637"}, {"#ffffff", "#111111"}},
    {Category::kActivation, "activation", {"#7a9a8d", "#96cbbd"}, {"#111111", "#111111"}},
    {Category::kCommunication, "communication", {"#92274a", "#de426d"}, {"#ffffff", "#111111"}},
    {Category::kWorkspace, "workspace", {"#a0606b", "#dc8d8b"}, {"#ffffff", "#111111"}},
    {Category::kTemporary, "temporary", {"#c48800", "#d6bd54"}, {"#111111", "#111111"}},
    {Category::kGraphWarmUp, "CUDA graph warm-up", {"#341004", "#7cffbd"}, {"#ffffff", "#111111"}},
    {Category::kCompilation, "compilation", {"#868c96", "#7d8694"}, {"#111111", "#111111"}},
    {Category::kAutotuning, "autotuning", {"#f924fe", "#f2fc1d"}, {"#111111", "#111111"}},
    {Category::kUnknown, "unknown", {"#9ba2ad", "#656e7b"}, {"#111111", "#ffffff"}},
};

constexpr const char* category_name(Category category) {
    return kCategories[static_cast<uint32_t>(category) - 1].name;
}

consteval bool are_in_order() {
    for (uint32_t i = 0; i < std::size(kCategories); ++i) {
        if (static_cast<uint32_t>(kCategories[i].category) != i + 1) {
            return false;
        }
    }
    return static_cast<uint32_t>(Category::kUnknown) == std::size(kCategories);
}
static_assert(are_in_order(), "the table has one row for each Category, in its order");

}  // namespace peakline::report
