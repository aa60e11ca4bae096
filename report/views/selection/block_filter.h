// What --where shows: blocks whose rows of the keys named there have the texts named there.
//
// Note [Texts before globs]
// A value that is the whole text of a row stands for this row alone; only one that is none is a
// glob. So names with * ? [ in them, as h.*.mlp with --fold, are given as they are shown. That
// needs all texts before the first answer.
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
    std::vector<std::string> nearest;  // texts that blocks have
};

// How a row may be written, its shown form first: with its path shortened and in full.
using TextsOfLabel = std::function<std::vector<std::string>(const Label&)>;

// The row of LiveBlocks::unknown_bytes.
Label unknown_label(const LiveBlocks& blocks);

class BlockFilter {
public:
    // The keys of `where` follow those of the rows in `keys`. All must outlive this.
    BlockFilter(const std::vector<WhereKey>& where, const BlockKeys& keys, TextsOfLabel texts_of);

    // All blocks, before the first question. See Note [Texts before globs].
    void see(const BlockGroup& group);
    // The bytes that no group has.
    void see_unknown(const LiveBlocks& blocks);
    bool takes(const BlockGroup& group);
    bool takes_unknown(const LiveBlocks& blocks);
    // After the last of see().
    std::vector<UnmatchedValue> unmatched() const;

private:
    // The rows that one key makes.
    struct KeyTexts {
        std::map<GroupKey, size_t> row_of_place;
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

// Leaves out the groups, and the single blocks where there are any, that the filter does not take.
void leave_out(BlockFilter& filter, format::Measure measure, LiveBlocks* blocks);

}  // namespace peakline::report
