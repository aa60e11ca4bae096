// Lines that hold a large part of the peak, with the known facts about them. Reported only if no
// other rule explains them.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "causes.h"
#include "rules.h"

namespace peakline::report {
namespace {

// Returns "float32 [20000, 20000]"; empty: unknown.
std::string type_text(const Definitions& definitions, uint32_t id) {
    const TensorType& type = definitions.tensor_type(id);
    if (id == 0 || type.dtype == 0) {
        return "";
    }
    std::string text = std::string(definitions.text(type.dtype)) + " [";
    for (size_t i = 0; i < type.shape.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(type.shape[i]);
    }
    return text + "]";
}

const char* way_of_making(Phase phase) {
    switch (phase) {
        case Phase::kForward:
            return "forward passes";
        case Phase::kRecomputation:
            return "recomputations";
        case Phase::kBackward:
            return "backward passes";
        case Phase::kOptimizer:
        case Phase::kZeroGrad:
            return "the optimizer's steps";
        case Phase::kInitialisation:
            return "initialisation";
        case Phase::kData:
            return "the loader of data";
        case Phase::kGraphWarmUp:
            return "warm-ups of CUDA graphs";
        case Phase::kCompilation:
        case Phase::kAutotuning:
        case Phase::kOther:
        case Phase::kNone:
        case Phase::kNamed:
            break;
    }
    return "code beside the model";
}

// Only if the category alone is certain.
const char* change_for(std::string_view category) {
    if (category == "activation") {
        return "smaller batches or shorter sequences, checkpointing, or a lower precision";
    }
    if (category == "parameter") {
        return "hold the weights in fewer bytes (bfloat16, quantized), or shard them";
    }
    return "";
}

class LargeLines : public AdviceRule {
public:
    explicit LargeLines(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        if (!block.is_at_peak) {
            return;
        }
        Line& line = lines_[block.origin.line.key];
        line.sums.add(block);
        line.bytes_of[block.origin.category] += block.bytes;
        ++line.count;
        line.made_in.insert(way_of_making(block.history.made_in));
        line.largest_bytes = std::max(line.largest_bytes, block.bytes);
        if (block.bytes > line.typed_bytes && block.type != 0) {
            line.typed_bytes = block.bytes;
            line.type = block.type;
        }
        if (const PhaseInterval* const step = run_.step_at(block.facts.alloc_event)) {
            const auto number = step->step.value_or(0);
            line.first_step = std::min(line.first_step.value_or(number), number);
            line.last_step = std::max(line.last_step.value_or(number), number);
        } else {
            line.is_from_before = true;
        }
        line.kept_count += block.history.is_freed ? 0 : 1;
    }

    void propose(std::vector<Proposal>* proposals) override {
        for (auto& [key, line] : lines_) {
            if (line.sums.held_bytes() * kLargeShareOfPeak < run_.peak.bytes) {
                continue;
            }
            Proposal one;
            one.rule = "large_line";
            one.title = title_of(line);
            one.evidence = evidence_of(line);
            one.change = change_for(main_category(line));
            one.is_open = true;
            line.sums.describe(&one);
            proposals->push_back(std::move(one));
        }
    }

private:
    struct Line {
        BlockSums sums;
        std::map<std::string, uint64_t> bytes_of;  // by category
        size_t count = 0;
        size_t kept_count = 0;  // live at the end
        uint64_t largest_bytes = 0;
        uint64_t typed_bytes = 0;  // the largest one with a known type
        uint32_t type = 0;         // its type
        std::set<std::string_view> made_in;
        std::optional<uint32_t> first_step;
        std::optional<uint32_t> last_step;
        bool is_from_before = false;  // made before the first step
    };

    static std::string main_category(const Line& line) {
        return std::max_element(line.bytes_of.begin(),
                                line.bytes_of.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; })
            ->first;
    }

    // Returns "6 blocks: activation, the largest float32 [20000, 20000]".
    std::string title_of(const Line& line) const {
        const std::string category = main_category(line);
        std::string text = std::to_string(line.count) + (line.count == 1 ? " block" : " blocks");
        const std::string type = type_text(run_.definitions, line.type);
        text += category == "unknown" ? "" : ": " + category;
        if (!type.empty()) {
            text += (line.count == 1                         ? ", "
                     : line.typed_bytes < line.largest_bytes ? ", one of them "
                                                             : ", the largest ") +
                    type;
        }
        return text;
    }

    static std::string evidence_of(const Line& line) {
        std::string text = "made in ";
        for (const std::string_view way : line.made_in) {
            text.append(way == *line.made_in.begin() ? "" : " and ").append(way);
        }
        // The first step has no clear beginning.
        if (line.last_step.value_or(0) > 0 && !line.is_from_before) {
            text += *line.first_step == *line.last_step
                        ? " of step " + std::to_string(*line.first_step)
                        : " of steps " + std::to_string(*line.first_step) + " to " +
                              std::to_string(*line.last_step);
        }
        if (line.kept_count == line.count) {
            text += "; live to the end";
        } else if (line.kept_count == 0) {
            text += "; all freed later";
        }
        return text;
    }

    const RunFacts& run_;
    std::map<std::string, Line> lines_;
};

}  // namespace

std::unique_ptr<AdviceRule> make_large_lines(const RunFacts& run) {
    return std::make_unique<LargeLines>(run);
}

}  // namespace peakline::report
