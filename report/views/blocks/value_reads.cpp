#include "value_reads.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "report/attribute/grouping.h"

namespace peakline::report {
namespace {

// Returns "aten::nonzero" for "aten::index>aten::nonzero". For item() its own name, not its
// kernel's.
std::string innermost_operator(std::string_view chain) {
    constexpr std::string_view kItem = "aten::_local_scalar_dense";
    std::string_view name = chain.substr(chain.rfind('>') + 1);
    if (name == kItem) {
        name = "aten::item";
    }
    return std::string(name);
}

// The operator that computes a size, and reads it with item() or inside another operator.
std::string size_operator(std::string_view chain) {
    constexpr std::string_view kReaders[] = {"aten::item", "aten::_local_scalar_dense"};
    while (chain.find('>') != chain.npos) {
        const std::string_view last = chain.substr(chain.rfind('>') + 1);
        if (std::find(std::begin(kReaders), std::end(kReaders), last) == std::end(kReaders)) {
            break;
        }
        chain.remove_suffix(last.size() + 1);
    }
    return innermost_operator(chain);
}

bool is_printing(const Definitions& definitions, const ContinuedStack& stack) {
    constexpr std::string_view kPrinter = "torch/_tensor_str.py";
    return std::any_of(stack.frames.begin(), stack.frames.end(), [&](uint32_t frame) {
        return definitions.text(definitions.python_frames[frame].file).ends_with(kPrinter);
    });
}

ValueEffect effect_of(const ValueRead& read,
                      const Definitions& definitions,
                      const ContinuedStack& stack) {
    if (is_printing(definitions, stack)) {
        return ValueEffect::kPrinted;
    }
    if ((read.flags & format::kReadsSize) != 0) {
        return ValueEffect::kSize;
    }
    const std::string name = innermost_operator(definitions.text(read.operators));
    return name == "aten::copy_" || name.empty() ? ValueEffect::kCopy : ValueEffect::kNumber;
}

// The reading line below the user's line: the innermost outside torch, else the innermost.
Location library_line(StackLookup& callers,
                      const ContinuedStack& stack,
                      const std::string& users_key) {
    const Definitions& definitions = callers.definitions();
    if (stack.frames.empty()) {
        return {};
    }
    Location line = location_of(definitions, stack.frames[callers.chosen_index(stack)]);
    if (location_key(line) == users_key) {
        line = location_of(definitions, stack.frames.front());
    }
    return location_key(line) == users_key ? Location{} : line;
}

}  // namespace

bool may_change_memory(const ValueReadRow& row) {
    return row.is_assumed || (row.effect != ValueEffect::kPrinted && !row.is_floating_point);
}

uint64_t zero_size_count(const std::vector<ValueReadRow>& reads) {
    uint64_t count = 0;
    for (const ValueReadRow& row : reads) {
        count += row.effect == ValueEffect::kSize && !row.is_assumed ? row.count : 0;
    }
    return count;
}

std::vector<ValueReadRow> build_value_reads(const std::vector<ValueRead>& reads,
                                            const Definitions& definitions) {
    FramePolicy policy;
    policy.choice = FrameChoice::kUser;
    StackLookup stacks(definitions, policy);
    StackLookup callers(definitions, {});
    using Key = std::tuple<std::string, std::string, std::string, ValueEffect, uint32_t>;
    std::map<Key, ValueReadRow> rows;
    for (const ValueRead& read : reads) {
        BlockGroup group;
        group.context = definitions.known_context(read.context);
        const BlockRow keyed = row_by_line(stacks, group);
        const ContinuedStack stack = stacks.stack_of(group.context);
        const ValueEffect effect = effect_of(read, definitions, stack);
        const std::string_view chain = definitions.text(read.operators);
        std::string operation =
            effect == ValueEffect::kSize ? size_operator(chain) : innermost_operator(chain);
        const Location library = library_line(callers, stack, keyed.label.key);
        ValueReadRow& row =
            rows[{keyed.label.key, location_key(library), operation, effect, read.flags}];
        row.label = keyed.label;
        row.library = library;
        row.operation = std::move(operation);
        row.effect = effect;
        row.is_assumed = (read.flags & format::kReadAssumed) != 0;
        row.is_floating_point = (read.flags & format::kReadsFloatingPoint) != 0;
        row.count += read.count;
        row.bytes += read.bytes;
    }
    std::vector<ValueReadRow> list;
    list.reserve(rows.size());
    for (auto& [key, row] : rows) {
        list.push_back(std::move(row));
    }
    std::stable_sort(list.begin(), list.end(), [](const ValueReadRow& a, const ValueReadRow& b) {
        return std::tie(a.is_assumed, a.effect, b.count) <
               std::tie(b.is_assumed, b.effect, a.count);
    });
    return list;
}

}  // namespace peakline::report
