#include "rule.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

namespace peakline::report {
namespace {

const PhaseInterval* last_around(const std::vector<const PhaseInterval*>& intervals,
                                 uint64_t event) {
    const auto after = std::upper_bound(
        intervals.begin(), intervals.end(), event, [](uint64_t at, const PhaseInterval* one) {
            return at < one->begin_event;
        });
    if (after == intervals.begin() || event >= (*std::prev(after))->end_event) {
        return nullptr;
    }
    return *std::prev(after);
}

}  // namespace

const PhaseInterval* RunFacts::outermost_at(uint64_t event) const {
    return last_around(outermost, event);
}

const PhaseInterval* RunFacts::step_at(uint64_t event) const {
    const std::vector<PhaseInterval>& steps = phases.steps;
    const auto after = std::upper_bound(
        steps.begin(), steps.end(), event, [](uint64_t at, const PhaseInterval& one) {
            return at < one.begin_event;
        });
    return after == steps.begin() ? nullptr : &*std::prev(after);
}

size_t RunFacts::pass_at(uint64_t event) const {
    const auto after = std::upper_bound(
        passes.begin(), passes.end(), event, [](uint64_t at, const PhaseInterval* one) {
            return at < one->begin_event;
        });
    return static_cast<size_t>(after - passes.begin());
}

size_t RunFacts::steps_outlived(const BlockFacts& facts) const {
    const PhaseInterval* const made = step_at(facts.alloc_event);
    if (made == nullptr) {
        return 0;
    }
    const PhaseInterval* const freed = step_at(facts.free_event);
    const auto first = std::lower_bound(
        outermost.begin(),
        outermost.end(),
        freed->begin_event,
        [](const PhaseInterval* one, uint64_t at) { return one->begin_event < at; });
    const bool is_before_work =
        facts.free_event != kNeverFreed && freed != made &&
        (first == outermost.end() || facts.free_event < (*first)->begin_event);
    return static_cast<size_t>(freed - made) - (is_before_work ? 1 : 0);
}

const Label* RunFacts::caller_of(const PhaseInterval& interval) const {
    const auto found = callers.lower_bound(interval.begin_event);
    return found != callers.end() && found->first < interval.end_event ? &found->second : nullptr;
}

void remove_between(uint64_t begin, uint64_t end, uint64_t bytes, LevelChanges* changes) {
    if (begin >= end) {
        return;
    }
    changes->push_back({begin, -static_cast<int64_t>(bytes)});
    if (end != kNeverFreed) {
        changes->push_back({end, static_cast<int64_t>(bytes)});
    }
}

void BlockSums::add(const RunBlock& block) {
    const auto [at, is_new] = lines_.try_emplace(block.origin.line.key);
    Sums& sums = at->second;
    if (is_new) {
        sums.line = block.origin.line;
    }
    sums.bytes += block.bytes;
    if (block.is_at_peak) {
        sums.bytes_at_peak += block.bytes;
        held_bytes_ += block.bytes;
    }
}

void BlockSums::add(const BlockSums& other) {
    for (const auto& [key, sums] : other.lines_) {
        Sums& own = lines_.try_emplace(key, Sums{0, 0, sums.line}).first->second;
        own.bytes += sums.bytes;
        own.bytes_at_peak += sums.bytes_at_peak;
    }
    held_bytes_ += other.held_bytes_;
}

void BlockSums::describe(Proposal* proposal) const {
    const auto heaviest =
        std::max_element(lines_.begin(), lines_.end(), [](const auto& a, const auto& b) {
            return std::tie(a.second.bytes_at_peak, a.second.bytes) <
                   std::tie(b.second.bytes_at_peak, b.second.bytes);
        });
    if (heaviest != lines_.end()) {
        proposal->line = heaviest->second.line;
    }
    proposal->held_bytes = held_bytes_;
    for (const auto& [key, sums] : lines_) {
        LineBytes& covered = proposal->covered[key];
        covered.line = sums.line;
        covered.bytes_at_peak += sums.bytes_at_peak;
    }
}

bool is_copy(std::string_view op) {
    constexpr std::array<std::string_view, 4> kCopies = {
        "aten::_to_copy", "aten::to", "aten::clone", "aten::contiguous"};
    return std::find(kCopies.begin(), kCopies.end(), op) != kCopies.end();
}

void WeightCopies::see(const RunBlock& block, const Definitions& definitions) {
    const bool is_reported =
        definitions.tensor(block.block.tensor).kind == format::TensorKind::kParameter;
    // A model that was gone when the program ended is identified by its life.
    if (is_reported || block.origin.category == "parameter") {
        parameter_sizes_[is_reported ? block.origin.module : ""].insert(
            block.block.requested_bytes);
    }
}

bool WeightCopies::is_one(const RunBlock& block) const {
    const auto has_size = [&](const std::string& module) {
        const auto found = parameter_sizes_.find(module);
        return found != parameter_sizes_.end() &&
               found->second.count(block.block.requested_bytes * 2) != 0;
    };
    return is_copy(block.origin.op) && block.history.made_in == Phase::kForward &&
           (has_size(block.origin.module) || has_size(""));
}

bool is_value_of_step(const std::string& category) {
    constexpr std::array<std::string_view, 4> kNames = {"activation", "temporary", "input", "kept"};
    return std::find(kNames.begin(), kNames.end(), category) != kNames.end();
}

}  // namespace peakline::report
