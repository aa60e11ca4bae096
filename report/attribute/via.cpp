#include "via.h"

#include "grouping.h"
#include "report/attribute/operators/operator_search.h"
#include "report/symbols/frame_names.h"
#include "report/trace/definitions/compiled_code.h"

namespace peakline::report {
namespace {

constexpr const char* kStaleCode = "compiled code from a cache of another version of this file";
constexpr const char* kLastOfSeveral = " (the last of its lines)";

// Returns "aten::add" for "aten::add.Tensor"; other names have no overload, or are sentences.
std::string without_overload(const std::string& name) {
    const bool is_operator =
        name.find("::") != std::string::npos && name.find(' ') == std::string::npos;
    return is_operator ? name.substr(0, name.find('.', name.find("::"))) : name;
}

}  // namespace

std::string via_of(StackLookup& stacks,
                   uint32_t context_id,
                   const ContinuedStack& stack,
                   size_t chosen) {
    const NativeSymbols::Uncounted uncounted(stacks.symbols());
    const LineSource source = line_source(stacks.definitions(), context_id);
    if (source == LineSource::kStale) {
        return kStaleCode;
    }
    const std::string name = operator_of(stacks, context_id);
    if (source == LineSource::kLastOfSeveral) {
        return name + kLastOfSeveral;
    }
    if (chosen == 0 || (!name.empty() && !is_mere_allocation(name))) {
        return without_overload(name);
    }
    Location leaf = location_of(stacks.definitions(), stack.frames.front());
    leaf.file = std::string(file_name_of(leaf.file));
    return location_key(leaf);
}

std::string via_of_native(StackLookup& stacks, uint32_t context_id, const Location& chosen) {
    const NativeSymbols::Uncounted uncounted(stacks.symbols());
    if (chosen.function.starts_with("at::_ops::") || stacks.choice() != FrameChoice::kCaller) {
        return {};
    }
    const std::string name = operator_of(stacks, context_id);
    // A function of an extension counts as an operator, too; then torch's own operator is more
    // useful.
    const bool is_itself = name.starts_with(chosen.function + " (");
    const Context& context = stacks.definitions().contexts[context_id];
    return without_overload(is_itself ? find_operators(stacks, context).innermost : name);
}

}  // namespace peakline::report
