// Numbers distinct keys from 0, in the order of first use.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace peakline::report {

template <class Key>
class Numbers {
public:
    uint32_t of(const Key& key) {
        const auto [at, is_new] = ids_.try_emplace(key, static_cast<uint32_t>(items_.size()));
        if (is_new) {
            items_.push_back(key);
        }
        return at->second;
    }
    const std::vector<Key>& items() const { return items_; }
    std::vector<Key> take() { return std::move(items_); }

private:
    std::map<Key, uint32_t> ids_;
    std::vector<Key> items_;
};

}  // namespace peakline::report
