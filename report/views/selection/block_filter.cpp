#include "block_filter.h"

#include <algorithm>
#include <utility>

#include <fnmatch.h>

#include "check_sum.h"
#include "report/replay/values/near_name.h"

namespace peakline::report {
namespace {

using Matches = bool(const std::string& value, const std::string& text);

bool is_text(const std::string& value, const std::string& text) {
    return value == text;
}

bool is_glob_of(const std::string& value, const std::string& text) {
    return fnmatch(value.c_str(), text.c_str(), 0) == 0;
}

uint64_t bytes_of_group(const BlockGroup& group, format::Measure measure) {
    const bool allocated = measure == format::Measure::kAllocated;
    return (allocated ? group.block_bytes : group.requested_bytes) * group.count;
}

}  // namespace

Label unknown_label(const LiveBlocks& blocks) {
    Label label;
    label.key = label.name = blocks.unknown_name != nullptr ? blocks.unknown_name : kUnknownName;
    return label;
}

BlockFilter::BlockFilter(const std::vector<WhereKey>& where,
                         const BlockKeys& keys,
                         TextsOfLabel texts_of)
    : where_(where), keys_(keys), texts_of_(std::move(texts_of)), known_(where.size()) {}

size_t BlockFilter::row_of(KeyTexts& known, const Label& label) {
    const auto [at, is_new] = known.row_of_key.try_emplace(label.key, known.texts.size());
    if (is_new) {
        known.texts.push_back(texts_of_(label));
    }
    return at->second;
}

void BlockFilter::see(const BlockGroup& group) {
    for (size_t i = 0; i < where_.size(); ++i) {
        const auto [at, is_new] = known_[i].row_of_group.try_emplace(key_of_group(group), 0);
        if (is_new) {
            at->second = row_of(known_[i], keys_.row_of(keys_.row_key_count() + i, group).label);
        }
    }
}

void BlockFilter::see_unknown(const LiveBlocks& blocks) {
    for (KeyTexts& known : known_) {
        row_of(known, unknown_label(blocks));
    }
}

std::vector<bool> BlockFilter::rows_with(const KeyTexts& known, const std::string& value) {
    for (Matches* const matches : {is_text, is_glob_of}) {
        std::vector<bool> rows(known.texts.size());
        for (size_t row = 0; row < rows.size(); ++row) {
            const auto& texts = known.texts[row];
            rows[row] = std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
                return matches(value, text);
            });
        }
        if (std::count(rows.begin(), rows.end(), true) != 0) {
            return rows;
        }
    }
    return std::vector<bool>(known.texts.size());
}

void BlockFilter::decide() {
    if (is_decided_) {
        return;
    }
    is_decided_ = true;
    for (size_t i = 0; i < where_.size(); ++i) {
        std::vector<bool>& taken = known_[i].is_taken;
        taken.assign(known_[i].texts.size(), false);
        for (const std::string& value : where_[i].values) {
            const std::vector<bool> rows = rows_with(known_[i], value);
            std::transform(
                rows.begin(), rows.end(), taken.begin(), taken.begin(), std::logical_or<>());
        }
    }
}

bool BlockFilter::takes(const BlockGroup& group) {
    decide();
    return std::all_of(known_.begin(), known_.end(), [&group](const KeyTexts& known) {
        return known.is_taken[known.row_of_group.at(key_of_group(group))];
    });
}

bool BlockFilter::takes_unknown(const LiveBlocks& blocks) {
    decide();
    return std::all_of(known_.begin(), known_.end(), [&blocks](const KeyTexts& known) {
        return known.is_taken[known.row_of_key.at(unknown_label(blocks).key)];
    });
}

std::vector<UnmatchedValue> BlockFilter::unmatched() const {
    std::vector<UnmatchedValue> list;
    for (size_t i = 0; i < where_.size(); ++i) {
        for (const std::string& value : where_[i].values) {
            const std::vector<bool> rows = rows_with(known_[i], value);
            if (std::count(rows.begin(), rows.end(), true) != 0) {
                continue;
            }
            std::vector<std::string> shown;
            for (const auto& texts : known_[i].texts) {
                shown.push_back(texts.front());
            }
            list.push_back({where_[i].key, value, nearest_texts(value, shown, kMostNearest)});
        }
    }
    return list;
}

void leave_out(BlockFilter& filter, format::Measure measure, LiveBlocks* blocks) {
    const bool has_unknown = blocks->unknown_bytes != 0;
    std::for_each(blocks->groups.begin(), blocks->groups.end(), [&filter](const BlockGroup& group) {
        filter.see(group);
    });
    if (has_unknown) {
        filter.see_unknown(*blocks);
    }
    std::erase_if(blocks->groups, [&](const BlockGroup& group) {
        const bool is_out = !filter.takes(group);
        blocks->left_out_bytes += is_out ? bytes_of_group(group, measure) : 0;
        blocks->left_out_count += is_out ? group.count : 0;
        return is_out;
    });
    if (has_unknown && !filter.takes_unknown(*blocks)) {
        blocks->left_out_bytes += static_cast<uint64_t>(blocks->unknown_bytes);
        blocks->unknown_bytes = 0;
    }
    std::erase_if(blocks->blocks,
                  [&filter](const TrackedBlock& block) { return !filter.takes(block.block); });
}

}  // namespace peakline::report
