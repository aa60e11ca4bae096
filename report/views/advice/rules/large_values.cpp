// Values that are large by the way they are computed: another way needs a part of them only.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "attempts.h"
#include "rules.h"

namespace peakline::report {
namespace {

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

bool is_of_pass(const RunBlock& block) {
    return block.origin.category == "activation" || block.origin.category == "temporary";
}

// Blocks of as many elements as one that is known, in its own dtype, half of it or twice: their
// sum, as a function of how much of it another way keeps.
class SameShape {
public:
    // The result of the operator that names the shape.
    void add_known(uint64_t requested_bytes) {
        for (const uint64_t bytes : {requested_bytes / 2, requested_bytes, requested_bytes * 2}) {
            sizes_.insert(bytes);
        }
    }
    void see(const RunBlock& block) {
        if (is_of_pass(block)) {
            of_size_[block.block.requested_bytes].push_back(
                {block.facts.alloc_event, block.facts.free_event, block.bytes, block.is_at_peak});
        }
    }
    // `kept_share`: one part in so many stays in the worst case.
    void remove(uint64_t kept_share, Proposal* one) const {
        for (const uint64_t size : sizes_) {
            const auto found = of_size_.find(size);
            if (found == of_size_.end()) {
                continue;
            }
            for (const Life& life : found->second) {
                one->held_bytes += life.is_at_peak ? life.bytes : 0;
                remove_between(life.begin, life.end, life.bytes, &one->most);
                remove_between(
                    life.begin, life.end, life.bytes - life.bytes / kept_share, &one->least);
            }
        }
    }

private:
    struct Life {
        uint64_t begin;
        uint64_t end;
        uint64_t bytes;
        bool is_at_peak;
    };
    std::set<uint64_t> sizes_;
    std::map<uint64_t, std::vector<Life>> of_size_;
};

// What a rule about values of one shape looks for, and what it says.
struct ShapeWords {
    bool (*names_shape)(std::string_view op);  // the result of this operator has the shape
    uint64_t kept_share;                       // see SameShape::remove()
    const char* rule;
    const char* title;
    const char* change;
    const char* attempt;
};

class ValuesOfShape : public AdviceRule {
public:
    explicit ValuesOfShape(const ShapeWords& words) : words_(words) {}

    void see(const RunBlock& block) override {
        if (block.block.requested_bytes < kLeastBytes) {
            return;
        }
        if (words_.names_shape(block.origin.op)) {
            shape_.add_known(block.block.requested_bytes);
            line_.add(block);
        }
        shape_.see(block);
    }

    void propose(std::vector<Proposal>* proposals) override {
        Proposal one;
        one.rule = words_.rule;
        one.title = words_.title;
        one.change = words_.change;
        one.attempt = words_.attempt;
        line_.describe(&one);
        one.held_bytes = 0;  // of all blocks of the shape, not of the results alone
        shape_.remove(words_.kept_share, &one);
        proposals->push_back(std::move(one));
    }

private:
    static constexpr uint64_t kLeastBytes = 1 << 20;
    ShapeWords words_;
    SameShape shape_;
    BlockSums line_;
};

constexpr ShapeWords kLogits = {
    [](std::string_view op) { return has(op, "log_softmax"); },
    8,  // chunks
    "loss_of_all_tokens",
    "Logits of all tokens, copies of them and their gradients are live together",
    "compute the last layer and the loss in chunks, or with a fused linear cross-entropy",
    ""};

constexpr ShapeWords kScores = {
    [](std::string_view op) { return has(op, "softmax") && !has(op, "log_softmax"); },
    // The kernels keep a number for each row of scores: less than this part for 64 tokens or more.
    32,
    "attention_matrix",
    "Attention scores of every pair of tokens are kept",
    "use F.scaled_dot_product_attention with a flash or memory-efficient kernel "
    "(transformers: attn_implementation=\"sdpa\")",
    attempts::kSdpaWithoutMath};

// Blocks of which only a run can say what another way needs.
class OpenSums {
public:
    void add(const RunBlock& block, uint64_t bytes) {
        remove_between(block.facts.alloc_event, block.facts.free_event, bytes, &changes_);
        RunBlock counted = block;
        counted.bytes = bytes;
        sums_.add(counted);
    }
    void add(const RunBlock& block) { add(block, block.bytes); }

    void propose(const char* rule,
                 const char* title,
                 const char* change,
                 const char* attempt,
                 std::vector<Proposal>* proposals) {
        Proposal one;
        one.rule = rule;
        one.title = title;
        one.change = change;
        one.attempt = attempt;
        sums_.describe(&one);
        one.most = std::move(changes_);
        one.is_open = true;
        proposals->push_back(std::move(one));
    }

private:
    LevelChanges changes_;
    BlockSums sums_;
};

// What to do without a copy depends on what reads it: only the limit is known.
class Copies : public AdviceRule {
public:
    explicit Copies(const RunFacts& run) : run_(run) {}

    void see(const RunBlock& block) override {
        const auto kind = run_.definitions.tensor(block.block.tensor).kind;
        if (kind == format::TensorKind::kParameter) {
            parameter_sizes_[block.origin.module].insert(block.block.requested_bytes);
            return;
        }
        if (!is_of_pass(block) || !is_copy(block.origin.op)) {
            return;
        }
        (is_weight(block) ? of_weights_ : of_values_).add(block);
    }

    void propose(std::vector<Proposal>* proposals) override {
        of_weights_.propose(
            "weight_copies",
            "Autocast keeps a copy of each weight in the lower precision",
            "hold the weights in that precision (model.bfloat16(), with a float32 copy in "
            "the optimizer), or leave the autocast region before the backward pass",
            attempts::kNoAutocastCache,
            proposals);
        of_values_.propose(
            "value_copies",
            "Values are copied to another dtype or layout, and both are live",
            "drop .float(), .to() and .contiguous() where the reader takes the original",
            "",
            proposals);
    }

private:
    static bool is_copy(std::string_view op) {
        constexpr std::array<std::string_view, 4> kCopies = {
            "aten::_to_copy", "aten::to", "aten::clone", "aten::contiguous"};
        return std::find(kCopies.begin(), kCopies.end(), op) != kCopies.end();
    }

    bool is_weight(const RunBlock& block) const {
        const auto found = parameter_sizes_.find(block.origin.module);
        return found != parameter_sizes_.end() &&
               found->second.count(block.block.requested_bytes * 2) != 0;
    }

    const RunFacts& run_;
    std::map<std::string, std::set<uint64_t>> parameter_sizes_;  // by module
    OpenSums of_weights_;
    OpenSums of_values_;
};

class GenerationCache : public AdviceRule {
public:
    explicit GenerationCache(const RunFacts&) {}

    void see(const RunBlock& block) override {
        if (block.origin.category == "cache") {
            sums_.add(block);
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        sums_.propose(
            "generation_cache",
            "The cache of keys and values grows with every token",
            "bound it (a static, sliding-window, quantized or offloaded cache), or generate for "
            "fewer sequences at once",
            "",
            proposals);
    }

private:
    OpenSums sums_;
};

// What torch's allocator adds to every request.
class Rounding : public AdviceRule {
public:
    explicit Rounding(const RunFacts&) {}

    void see(const RunBlock& block) override {
        const uint64_t requested = block.block.requested_bytes;
        if (block.bytes > requested) {
            sums_.add(block, block.bytes - requested);
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        sums_.propose(
            "rounding",
            "Torch's allocator gives larger blocks than the program asks for",
            "fewer, larger tensors; without roundup_power2_divisions in PYTORCH_ALLOC_CONF, if "
            "it is set",
            "",
            proposals);
    }

private:
    OpenSums sums_;
};

}  // namespace

std::unique_ptr<AdviceRule> make_whole_logits(const RunFacts&) {
    return std::make_unique<ValuesOfShape>(kLogits);
}

std::unique_ptr<AdviceRule> make_attention_matrix(const RunFacts&) {
    return std::make_unique<ValuesOfShape>(kScores);
}

std::unique_ptr<AdviceRule> make_copies(const RunFacts& run) {
    return std::make_unique<Copies>(run);
}

std::unique_ptr<AdviceRule> make_generation_cache(const RunFacts& run) {
    return std::make_unique<GenerationCache>(run);
}

std::unique_ptr<AdviceRule> make_rounding(const RunFacts& run) {
    return std::make_unique<Rounding>(run);
}

}  // namespace peakline::report
