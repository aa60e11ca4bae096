// The filter of --where: selects blocks by the texts of their rows in the given keys.
//
// Note [Texts before globs]
// A value that is the whole text of a row selects this row alone; only a value that is not is a
// glob. So names that contain * ? [, such as h.*.mlp with --fold, are written as shown. This needs
// all texts before the first decision.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "report/attribute/block_keys.h"
#include "selection.h"

namespace peakline::report {

// A value of --where that no block has.
struct UnmatchedValue {
    std::string key;
    std::string value;
    std::vector<std::string> nearest;  // texts that do occur
};

// The texts of a row, its shown form first: with its path shortened and in full.
using TextsOfLabel = std::function<std::vector<std::string>(const Label&)>;

// The row of LiveBlocks::unknown_bytes.
Label unknown_label(const LiveBlocks& blocks);

class BlockFilter {
public:
    // `where`: its keys follow those of the rows in `keys`. All must outlive this.
    BlockFilter(const std::vector<WhereKey>& where, const BlockKeys& keys, TextsOfLabel texts_of);

    // Call it with all blocks, before the first takes(). See Note [Texts before globs].
    void see(const BlockGroup& group);
    // The same for the bytes that no group has.
    void see_unknown(const LiveBlocks& blocks);
    bool takes(const BlockGroup& group);
    bool takes_unknown(const LiveBlocks& blocks);
    // Call it after the last see().
    std::vector<UnmatchedValue> unmatched() const;

private:
    // The rows of one key.
    struct KeyTexts {
        std::map<GroupKey, size_t> row_of_group;
        std::map<std::string, size_t> row_of_key;
        std::vector<std::vector<std::string>> texts;  // by row
        std::vector<bool> is_taken;                   // by row
    };

    static constexpr size_t kMostNearest = 5;

    size_t row_of(KeyTexts& known, const Label& label);
    static std::vector<bool> rows_with(const KeyTexts& known, const std::string& value);
    void decide();

    const std::vector<WhereKey>& where_;
    const BlockKeys& keys_;
    TextsOfLabel texts_of_;
    std::vector<KeyTexts> known_;  // by index in where_
    bool is_decided_ = false;
};

// Removes the groups, and the single blocks if there are any, that the filter does not take.
void leave_out(BlockFilter& filter, format::Measure measure, LiveBlocks* blocks);

}  // namespace peakline::report
