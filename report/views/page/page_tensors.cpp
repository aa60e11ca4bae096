#include "page_tensors.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace peakline::report {
namespace {

bool goes_before(const PageTensor& a, const PageTensor& b) {
    const uint64_t a_life = a.freed_event - a.made_event;
    const uint64_t b_life = b.freed_event - b.made_event;
    return std::tie(b.bytes, b_life, a.ordinal) < std::tie(a.bytes, a_life, b.ordinal);
}

// Numbers each value once.
template <class Value, class Key>
class Numbers {
public:
    explicit Numbers(std::vector<Value>* values) : values_(values) {}
    uint32_t of(const Key& key, const Value& value) {
        const auto [at, is_new] = ids_.try_emplace(key, static_cast<uint32_t>(values_->size()));
        if (is_new) {
            values_->push_back(value);
        }
        return at->second;
    }

private:
    std::vector<Value>* values_;
    std::unordered_map<Key, uint32_t> ids_;
};

TrackedBlock block_of(const PageTensor& row, const Definitions& definitions, BlockFacts facts) {
    TrackedBlock block;
    block.ordinal = row.ordinal;
    block.block.context = row.trace_context;
    block.block.stream = row.stream;
    block.block.device = row.device;
    block.block.count = 1;
    block.block.tensor = definitions.tensor_of(row.ordinal);
    block.facts = facts;
    block.facts.saved_context = row.saved_context;
    block.facts.free_context = row.free_context;
    return block;
}

}  // namespace

void TensorFollower::on_alloc(const PageTensor& made) {
    live_.put(made.ordinal, slots_.add(made) + 1);
    next_ordinal_ = made.ordinal + 1;
}

void TensorFollower::on_saved(const BlockSaved& block) {
    if (const uint32_t slot = live_.at(block.ordinal); slot != 0) {
        slots_[slot - 1].saved_tick = block.at.tick;
        slots_[slot - 1].saved_context = block.context;
    }
}

void TensorFollower::on_free(const BlockFree& block, uint64_t event, bool is_shown) {
    const uint32_t slot = live_.at(block.ordinal);
    if (slot == 0) {
        return;
    }
    if (is_shown) {
        finished_.push_back(slots_[slot - 1]);
        PageTensor& freed = finished_.back();
        freed.freed_event = event;
        freed.freed_tick = block.at.tick;
        freed.free_context = block.context;
    }
    slots_.remove(slot - 1);
    live_.remove(block.ordinal);
    if (finished_.size() >= 2 * most_ + 1) {
        keep_most();
    }
}

void TensorFollower::keep_most() {
    if (finished_.size() <= most_) {
        return;
    }
    const auto end = finished_.begin() + static_cast<int64_t>(most_);
    std::nth_element(finished_.begin(), end, finished_.end(), goes_before);
    left_out_count_ += finished_.size() - most_;
    finished_.resize(most_);
}

PageTensors TensorFollower::finish(const Definitions& definitions,
                                   const AllFacts& facts,
                                   BlockTexts& texts) {
    live_.for_each(next_ordinal_,
                   [&](uint64_t ordinal) { finished_.push_back(slots_[live_.at(ordinal) - 1]); });
    keep_most();
    PageTensors tensors;
    tensors.left_out_count = left_out_count_;
    tensors.rows = std::move(finished_);
    std::sort(tensors.rows.begin(), tensors.rows.end(), [](const auto& a, const auto& b) {
        return a.ordinal < b.ordinal;
    });
    Numbers<std::string, std::string> names(&tensors.names);
    names.of({}, {});
    Numbers<uint32_t, uint32_t> types(&tensors.types);
    types.of(0, 0);
    Numbers<Label, std::string> savers(&tensors.savers);
    savers.of({}, {});
    Numbers<Label, std::string> freed_by(&tensors.freed_by);
    for (PageTensor& row : tensors.rows) {
        const TrackedBlock block = block_of(row, definitions, facts.of(row.ordinal));
        const BlockHistory history = texts.history_of(block);
        const std::string name = texts.name_of(block, history);
        row.name = names.of(name, name);
        const uint32_t type = definitions.type_of(row.ordinal);
        row.type = types.of(type, type);
        const Label& saver = texts.saved_by(block);
        row.saved_by = savers.of(saver.key, saver);
        const Label& freed = texts.freed_by(block, history);
        row.freed_by = freed_by.of(freed.key, freed);
    }
    return tensors;
}

}  // namespace peakline::report
