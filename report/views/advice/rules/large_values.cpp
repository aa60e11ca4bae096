// Finds values that are large because of the way they are computed: another way needs only a part.
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

// Blocks with as many elements as a known one, in its own dtype or one of half or double the size:
// their sum, as a function of the part that another way keeps.
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
    // `kept_share`: in the worst case one part in this many stays.
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

// The pattern and the words of a rule about values of one shape.
struct ShapeWords {
    bool (*names_shape)(std::string_view op);  // the result of this operator has the shape
    size_t most_in_pass;                       // more results are parts; 0: any number
    uint64_t kept_share;                       // see SameShape::remove()
    const char* rule;
    const char* title;
    const char* evidence;
    const char* change;
    const char* attempt;
};

class ValuesOfShape : public AdviceRule {
public:
    ValuesOfShape(const RunFacts& run, const ShapeWords& words) : run_(run), words_(words) {}

    void see(const RunBlock& block) override {
        if (block.block.requested_bytes < kLeastBytes) {
            return;
        }
        if (words_.names_shape(block.origin.op)) {
            shape_.add_known(block.block.requested_bytes);
            line_.add(block);
            const size_t results = ++results_of_[run_.pass_at(block.facts.alloc_event)];
            most_results_ = std::max(most_results_, results);
        }
        shape_.see(block);
    }

    void propose(std::vector<Proposal>* proposals) override {
        if (words_.most_in_pass != 0 && most_results_ > words_.most_in_pass) {
            return;
        }
        Proposal one;
        one.rule = words_.rule;
        one.title = words_.title;
        one.evidence = words_.evidence;
        one.change = words_.change;
        one.attempt = words_.attempt;
        line_.describe(&one);
        one.held_bytes = 0;  // counts all blocks of the shape, not only the results
        shape_.remove(words_.kept_share, &one);
        proposals->push_back(std::move(one));
    }

private:
    static constexpr uint64_t kLeastBytes = 1 << 20;
    const RunFacts& run_;
    ShapeWords words_;
    std::map<size_t, size_t> results_of_;  // by pass
    size_t most_results_ = 0;
    SameShape shape_;
    BlockSums line_;
};

constexpr ShapeWords kLogits = {
    [](std::string_view op) { return has(op, "log_softmax"); },
    2,
    8,  // chunks
    "loss_of_all_tokens",
    "Logits of all tokens, copies of them and their gradients are live together",
    "blocks as large as the result of log_softmax",
    "compute the last layer and the loss in chunks, or with a fused linear cross-entropy",
    ""};

constexpr ShapeWords kScores = {
    [](std::string_view op) { return has(op, "softmax") && !has(op, "log_softmax"); },
    0,
    // The kernels keep a number for each row of scores: a smaller part than this for 64 tokens or
    // more.
    32,
    "attention_matrix",
    "Attention scores of every pair of tokens are kept",
    "blocks as large as the result of softmax",
    "use F.scaled_dot_product_attention with a flash or memory-efficient kernel "
    "(transformers: attn_implementation=\"sdpa\")",
    attempts::kSdpaWithoutMath};

// Blocks for which only a run can show the need of another way.
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
                 const char* evidence,
                 const char* change,
                 const char* attempt,
                 std::vector<Proposal>* proposals) {
        Proposal one;
        one.rule = rule;
        one.title = title;
        one.evidence = evidence;
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

// The need without a copy depends on the reader: only the upper limit is known.
class Copies : public AdviceRule {
public:
    void see(const RunBlock& block) override {
        const bool is_weight = block.is_weight_copy;
        // Copies during initialisation come from the host.
        if (!is_copy(block.origin.op) || !(is_weight || is_of_pass(block)) ||
            block.history.made_in == Phase::kInitialisation) {
            return;
        }
        (is_weight ? of_weights_ : of_values_).add(block);
    }

    void propose(std::vector<Proposal>* proposals) override {
        of_weights_.propose(
            "weight_copies",
            "Autocast keeps a copy of each weight in the lower precision",
            "casts with half the size of a parameter of their module",
            "hold the weights in that precision (model.bfloat16(), with a float32 copy in "
            "the optimizer), or leave the outermost autocast region sooner: copies live to its "
            "end (torch.autocast(..., cache_enabled=False) keeps none)",
            attempts::kNoAutocastCache,
            proposals);
        of_values_.propose(
            "value_copies",
            "Values are copied to another dtype or layout, and both are live",
            "results of operators that only copy",
            "drop .float(), .to() and .contiguous() where the reader takes the original",
            "",
            proposals);
    }

private:
    OpenSums of_weights_;
    OpenSums of_values_;
};

// Keys and values of all tokens so far. A cache that is joined anew grows; another has its full
// length from the start.
class GenerationCache : public AdviceRule {
public:
    explicit GenerationCache(const RunFacts&) {}

    void see(const RunBlock& block) override {
        if (block.origin.category == "cache") {
            (has(block.origin.op, "aten::cat") ? grown_ : filled_).add(block);
        }
    }

    void propose(std::vector<Proposal>* proposals) override {
        grown_.propose(
            "generation_cache",
            "The cache of keys and values grows with every token",
            "joined with the earlier values, by a cache object or beside attention",
            "bound it (a static, sliding-window, quantized or offloaded cache), or generate for "
            "fewer sequences at once",
            "",
            proposals);
        filled_.propose("cache_length",
                        "A cache of keys and values holds its whole length at once",
                        "made by a cache object, at its full size",
                        "make it no longer than the sequences, keep it in fewer bytes (quantized, "
                        "offloaded), or drop it when generation ends",
                        "",
                        proposals);
    }

private:
    OpenSums grown_;
    OpenSums filled_;
};

// The bytes that torch's allocator adds to every request.
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
            "Torch's allocator rounds the program's requests up",
            "sizes of blocks against sizes of requests",
            "fewer, larger tensors; without roundup_power2_divisions in PYTORCH_ALLOC_CONF, if "
            "it is set",
            "",
            proposals);
    }

private:
    OpenSums sums_;
};

}  // namespace

std::unique_ptr<AdviceRule> make_whole_logits(const RunFacts& run) {
    return std::make_unique<ValuesOfShape>(run, kLogits);
}

std::unique_ptr<AdviceRule> make_attention_matrix(const RunFacts& run) {
    return std::make_unique<ValuesOfShape>(run, kScores);
}

std::unique_ptr<AdviceRule> make_copies(const RunFacts&) {
    return std::make_unique<Copies>();
}

std::unique_ptr<AdviceRule> make_generation_cache(const RunFacts& run) {
    return std::make_unique<GenerationCache>(run);
}

std::unique_ptr<AdviceRule> make_rounding(const RunFacts& run) {
    return std::make_unique<Rounding>(run);
}

}  // namespace peakline::report
