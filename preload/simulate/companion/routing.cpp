// Note [Routing]
// A mixture of experts sends each token to the experts with the highest scores: topk, argmax or max
// over a last dimension of kMaxExperts scores or fewer. Without values each of them would return
// zeros, and most experts would get no token. With `--assume routing=RULE` the returned indices are
//
//   balanced        as many tokens for each expert, one more or less
//   worst           experts 0 to k-1 for each token
//   measured:FILE   in the proportions of a line of FILE, a number for each expert. Each choice
//                   takes the next line, the first again after the last; a choice that a checkpoint
//                   recomputes in the backward pass takes the line that it had. A line of another
//                   length than the number of experts is no choice.
//
// A token never chooses an expert twice, so no expert gets more tokens than there are. The indices
// are exact contents (Note [Values]) at any size, and so are the results that the program computes
// from them: counts, offsets, masks, and the splits that ranks exchange.
#include "routing.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string>

#include <torch/csrc/autograd/graph_task.h>

#include "device_tensors.h"
#include "device_values.h"
#include "preload/peakline_api.h"
#include "recorder_functions.h"

namespace peakline::simulated {
namespace {

constexpr char kRule[] = "routing=";

using Shares = std::vector<double>;  // of the tokens, by expert

struct Routing {
    enum class Kind { kNone, kBalanced, kWorst, kMeasured } kind = Kind::kNone;
    std::vector<Shares> lines;
};

std::vector<Shares> read_lines(const std::string& path) {
    std::vector<Shares> lines;
    std::ifstream file(path);
    for (std::string text; std::getline(file, text);) {
        std::replace(text.begin(), text.end(), ',', ' ');
        std::istringstream words(text);
        Shares shares;
        for (double share = 0; words >> share;) {
            shares.push_back(share);
        }
        if (!shares.empty()) {
            lines.push_back(std::move(shares));
        }
    }
    return lines;
}

// The last rule for routing of PEAKLINE_ASSUME, which separates rules by lines or ';'.
std::string assumed_rule() {
    const char* const given = std::getenv("PEAKLINE_ASSUME");
    std::string rules = given == nullptr ? "" : given;
    std::replace(rules.begin(), rules.end(), ';', '\n');
    std::istringstream texts(rules);
    std::string rule;
    for (std::string text; std::getline(texts, text);) {
        if (text.compare(0, sizeof kRule - 1, kRule) == 0) {
            rule = text.substr(sizeof kRule - 1);
        }
    }
    return rule;
}

const Routing& routing() {
    static const auto* const read = [] {
        auto* const made = new Routing;
        const std::string rule = assumed_rule();
        constexpr char kMeasured[] = "measured:";
        if (rule == "balanced") {
            made->kind = Routing::Kind::kBalanced;
        } else if (rule == "worst") {
            made->kind = Routing::Kind::kWorst;
        } else if (rule.compare(0, sizeof kMeasured - 1, kMeasured) == 0) {
            made->lines = read_lines(rule.substr(sizeof kMeasured - 1));
            made->kind = made->lines.empty() ? Routing::Kind::kNone : Routing::Kind::kMeasured;
        }
        return made;
    }();
    return *read;
}

// The next line of the file; in a backward pass the line of the latest choice of the forward pass.
const Shares& next_line() {
    static std::mutex mutex;
    static size_t next = 0;
    static std::vector<size_t> forward;  // lines that a checkpoint may need again
    const std::lock_guard lock(mutex);
    const std::vector<Shares>& lines = routing().lines;
    if (torch::autograd::get_current_graph_task_id() != -1 && !forward.empty()) {
        const size_t line = forward.back();
        forward.pop_back();
        return lines[line];
    }
    const size_t line = next++ % lines.size();
    if (line == 0) {
        forward.clear();
    }
    forward.push_back(line);
    return lines[line];
}

// Tokens of each expert: `choices` in these proportions, none above `tokens`. The rest after
// rounding goes to the experts with the largest remainders, and the rest of a full expert to the
// next ones.
std::vector<int64_t> share_out(const Shares& shares, int64_t choices, int64_t tokens) {
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::vector<int64_t> counts(shares.size());
    std::vector<double> missing(shares.size());
    for (size_t i = 0; i < shares.size(); ++i) {
        const double exact = all > 0 ? static_cast<double>(choices) * shares[i] / all : 0;
        counts[i] = std::min(tokens, static_cast<int64_t>(exact));
        missing[i] = exact - static_cast<double>(counts[i]);
    }
    std::vector<size_t> order(shares.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(
        order.begin(), order.end(), [&](size_t a, size_t b) { return missing[a] > missing[b]; });
    int64_t left = choices - std::accumulate(counts.begin(), counts.end(), int64_t{0});
    for (const size_t expert : order) {
        if (left > 0 && counts[expert] < tokens) {
            ++counts[expert];
            --left;
        }
    }
    for (const size_t expert : order) {
        const int64_t more = std::min(left, tokens - counts[expert]);
        counts[expert] += more;
        left -= more;
    }
    return counts;
}

std::vector<int64_t> tokens_of_experts(int64_t experts, int64_t choices, int64_t tokens) {
    const auto count = static_cast<size_t>(experts);
    switch (routing().kind) {
        case Routing::Kind::kBalanced:
            return share_out(Shares(count, 1.0), choices, tokens);
        case Routing::Kind::kMeasured: {
            const Shares& line = next_line();
            return line.size() == count ? share_out(line, choices, tokens) : std::vector<int64_t>();
        }
        default: {
            std::vector<int64_t> counts(count);
            std::fill_n(counts.begin(), choices / tokens, tokens);
            return counts;
        }
    }
}

bool chooses_in_last_dimension(const OperatorInfo& info,
                               c10::ArrayRef<const c10::IValue> inputs,
                               int64_t dimensions) {
    size_t dimension = 1;  // argmax(self, dim, keepdim), max.dim(self, dim, keepdim)
    if (info.name == "aten::topk") {
        dimension = 2;  // topk(self, k, dim, ...)
    } else if (info.name != "aten::argmax" && info.name != "aten::max") {
        return false;
    }
    if (inputs.size() <= dimension || !inputs[dimension].isInt()) {
        return false;
    }
    const int64_t given = inputs[dimension].toInt();
    return given == -1 || given == dimensions - 1;
}

// The report lists the line of the program, and the rule counts as matched.
void report_choice(uint64_t bytes) {
    static const auto report =
        recorder_function<decltype(peakline_value_read)>("peakline_value_read");
    if (report != nullptr) {
        PeaklineValueRead read{};
        read.operators = "routing";
        read.bytes = bytes;
        read.is_size = 1;
        report(&read);
    }
}

}  // namespace

bool routing_is_assumed() {
    return routing().kind != Routing::Kind::kNone;
}

int64_t unknown_scores(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
    if (inputs.empty() || !inputs[0].isTensor()) {
        return 0;
    }
    const at::Tensor& scores = inputs[0].toTensor();
    if (!is_device_tensor(scores) || !scores.is_floating_point() || scores.dim() == 0 ||
        !chooses_in_last_dimension(info, inputs, scores.dim()) || !runs_now() ||
        has_exact_values(scores)) {
        return 0;
    }
    return scores.size(-1);
}

int64_t expert_count(const OperatorInfo& info, c10::ArrayRef<const c10::IValue> inputs) {
    const int64_t experts = routing_is_assumed() ? unknown_scores(info, inputs) : 0;
    return experts < 2 || experts > kMaxExperts ? 0 : experts;
}

void choose_experts(int64_t expert_count, const std::vector<c10::IValue>& outputs) {
    if (outputs.empty() || !outputs.back().isTensor()) {
        return;
    }
    const at::Tensor& indices = outputs.back().toTensor();
    if (!is_device_tensor(indices) || indices.scalar_type() != at::kLong ||
        !indices.is_contiguous() || indices.numel() == 0) {
        return;
    }
    const int64_t each =
        outputs.size() == 2 && outputs[0].toTensor().sizes() == indices.sizes() && indices.dim() > 0
            ? indices.size(-1)
            : 1;
    const int64_t choices = indices.numel();
    const int64_t tokens = choices / each;
    const std::vector<int64_t> counts = tokens_of_experts(expert_count, choices, tokens);
    if (counts.empty()) {
        return;
    }
    // The k-th choices of all tokens, one after the other: no expert has more than `tokens` in a
    // row, so none is chosen twice by a token.
    std::vector<int64_t> chosen(static_cast<size_t>(choices));
    int64_t position = 0;
    for (size_t expert = 0; expert < counts.size(); ++expert) {
        for (int64_t i = 0; i < counts[expert]; ++i, ++position) {
            const int64_t token = position % tokens;
            chosen[static_cast<size_t>(token * each + position / tokens)] =
                static_cast<int64_t>(expert);
        }
    }
    const size_t bytes = chosen.size() * sizeof(int64_t);
    device_values()->write(indices.data_ptr(), bytes, chosen.data(), kExactValues | kChosenValues);
    report_choice(bytes);
}

}  // namespace peakline::simulated
