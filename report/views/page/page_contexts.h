// The contexts of a page: distinct combinations of stack, line and the keys of --by that have a
// page name. Every table, flame and sum of a page is a sum over contexts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/record/tables/mix64.h"
#include "report/attribute/facets.h"
#include "report/attribute/grouping.h"

namespace peakline::report {

// Ids in PageNames.
struct PageContext {
    uint32_t node = 0;  // the innermost frame
    uint32_t line = 0;
    uint32_t via = 0;
    std::array<uint32_t, kMostPageKeys> keys = {};  // a name of each of PageNames::keys

    // NOLINTNEXTLINE(modernize-use-nullptr): the 0 is the compiler's own.
    auto operator<=>(const PageContext&) const = default;
};

struct PageFrame {
    Location location;       // without a file: `function` is the text of a stack without frames
    bool passes_on = false;  // a wrapper that only passes a call on
    bool is_users = false;   // of the program itself
};

struct PageNode {
    uint32_t parent = 0;  // smaller than the node's own id; node 0 is the whole program
    uint32_t frame = 0;
};

struct PageKey {
    const Grouping* grouping = nullptr;
    std::vector<std::string> names;
};

// The index of a key in PageNames::keys; `name`: of a grouping with a page name.
size_t page_key(std::string_view name);

struct PageNames {
    PageNames();
    const std::vector<std::string>& categories() const { return keys[category_key].names; }
    uint32_t category_of(uint32_t context) const { return contexts[context].keys[category_key]; }

    std::vector<Label> lines;
    std::vector<PageKey> keys;
    size_t category_key = page_key("category");
    std::vector<std::string> vias;  // the operators that allocated below the line; may be empty
    std::vector<PageFrame> frames;
    std::vector<PageNode> nodes = {{}};
    std::vector<PageContext> contexts;
};

class PageContexts {
public:
    // Both must outlive this.
    PageContexts(StackLookup& stacks, const PhaseTable& phases);

    // The context of a block, computed once for equal blocks.
    uint32_t of(const AllocationShape& shape, uint64_t ordinal, const BlockFacts& facts);
    // The stack of a context of the trace, as a node.
    uint32_t node_of(uint32_t trace_context);
    uint32_t thread_of(uint32_t trace_context) const {
        return stacks_.definitions().contexts[trace_context].thread;
    }
    uint32_t category_of(uint32_t context) const { return names_.category_of(context); }
    const PageNames& names() const { return names_; }
    PageNames take() { return std::move(names_); }

private:
    struct BlockKey {
        uint64_t origin = 0;  // context of the trace, and the module that owns the tensor
        uint64_t life = 0;
        auto operator<=>(const BlockKey&) const = default;
    };
    struct HashOfKey {
        size_t operator()(const BlockKey& key) const {
            return record::mix64(record::mix64(key.origin) ^ key.life);
        }
    };
    using Ids = std::unordered_map<std::string, uint32_t>;

    static uint64_t pack(const BlockHistory& history, const Tensor& tensor);
    uint32_t add(const TrackedBlock& block, const BlockHistory& history);
    BlockRow row_of(const Grouping& by, const TrackedBlock& block, const BlockHistory& history);
    uint32_t id_of(const char* kind, std::string name, std::vector<std::string>& names);
    uint32_t line_id(Label label);
    uint32_t node_id(const Label& stack);
    uint32_t frame_id(const Location& location);

    StackLookup& stacks_;
    BlockHistories histories_;
    FacetHelp help_;
    PageNames names_;
    std::unordered_map<BlockKey, uint32_t, HashOfKey> of_key_;
    std::map<PageContext, uint32_t> of_context_;
    std::map<std::string, Ids> ids_;  // by the name of the key
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> nodes_;
    std::unordered_map<uint32_t, uint32_t> node_of_context_;
};

}  // namespace peakline::report
