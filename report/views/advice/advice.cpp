#include "advice.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "recorded_run.h"
#include "rules/rules.h"

namespace peakline::report {
namespace {

constexpr MakeRule* kRules[] = {make_late_zero_grad,
                                make_kept_gradients,
                                make_optimizer_lists,
                                make_optimizer_state,
                                make_held_values,
                                make_kept_values,
                                make_joined_values,
                                make_unused_graphs,
                                make_repeated_layers,
                                make_whole_logits,
                                make_attention_matrix,
                                make_copies,
                                make_generation_cache,
                                make_recomputed_whole,
                                make_rounding,
                                make_large_lines};
// Memory that the compiler takes is no value of the program: no other rule sees it.
constexpr MakeRule* kCompilerRule = make_compiling;

// Passes every block of a run to the rules.
class Rules {
public:
    explicit Rules(const RunFacts& run) : compiler_rule_(kCompilerRule(run)) {
        for (MakeRule* const make : kRules) {
            rules_.push_back(make(run));
        }
    }

    void see(const RunBlock& block) {
        if (is_compiling(block.history.made_in)) {
            compiler_rule_->see(block);
            return;
        }
        for (const auto& rule : rules_) {
            rule->see(block);
        }
    }

    std::vector<Proposal> proposals() {
        std::vector<Proposal> all;
        for (const auto& rule : rules_) {
            rule->propose(&all);
        }
        compiler_rule_->propose(&all);
        return all;
    }

private:
    std::vector<std::unique_ptr<AdviceRule>> rules_;
    std::unique_ptr<AdviceRule> compiler_rule_;
};

uint64_t fall_of(const LevelPeak& run, const LevelPeak& altered) {
    return run.bytes - std::min(run.bytes, altered.bytes);
}

Advice judged(Proposal proposal, const LevelPeak& run, const LevelPeak& most, LevelPeak least) {
    Advice advice;
    advice.rule = proposal.rule;
    advice.title = std::move(proposal.title);
    advice.change = std::move(proposal.change);
    advice.evidence = std::move(proposal.evidence);
    advice.line = std::move(proposal.line);
    advice.attempt = std::move(proposal.attempt);
    advice.held_bytes = proposal.held_bytes;
    advice.is_exact = proposal.is_exact;
    least = proposal.knows_least ? least : most;
    const auto most_fall = static_cast<double>(fall_of(run, most));
    const auto least_fall = static_cast<double>(fall_of(run, least));
    if (!proposal.is_open && most_fall - least_fall <= kMostDoubt * most_fall) {
        advice.saves_bytes = fall_of(run, least);
    }
    return advice;
}

// Among equal ones, a finding with a cause comes first.
bool is_larger(const Advice& a, const Advice& b) {
    const uint64_t bytes_a = a.saves_bytes.value_or(a.held_bytes);
    const uint64_t bytes_b = b.saves_bytes.value_or(b.held_bytes);
    return bytes_a != bytes_b ? bytes_a > bytes_b : a.kind < b.kind;
}

using BytesOfLines = std::map<std::string, uint64_t>;  // at the peak

// Faults come first: no other finding may repeat most of their bytes.
bool is_explained(const Proposal& proposal, const BytesOfLines& explained) {
    uint64_t known = 0;
    for (const auto& [line, covered] : proposal.covered) {
        const auto found = explained.find(line);
        known += found == explained.end() ? 0 : std::min(covered.bytes_at_peak, found->second);
    }
    return proposal.held_bytes != 0 && known * 2 >= proposal.held_bytes;
}

// Selects the findings of one kind that are worth a sentence.
class Judge {
public:
    Judge(std::vector<Proposal>* proposals, std::vector<LevelPeak> peaks)
        : proposals_(*proposals), peaks_(std::move(peaks)) {}

    void judge(CauseKind kind) {
        BytesOfLines covered;
        for (size_t i = 0; i < proposals_.size(); ++i) {
            Proposal& proposal = proposals_[i];
            if (cause_kind(proposal.rule) != kind ||
                (kind != CauseKind::kFault && is_explained(proposal, explained_))) {
                continue;
            }
            const std::map<std::string, LineBytes> lines = std::move(proposal.covered);
            Advice advice =
                judged(std::move(proposal), peaks_[0], peaks_[2 * i + 1], peaks_[2 * i + 2]);
            advice.kind = kind;
            if (!is_worth_a_sentence(advice)) {
                continue;
            }
            for (const auto& [line, part] : lines) {
                covered[line] += part.bytes_at_peak;
                if (line != advice.line.key &&
                    part.bytes_at_peak * kLargeShareOfPeak >= peaks_[0].bytes) {
                    advice.other_lines.push_back(part.line);
                }
            }
            found_.push_back(std::move(advice));
        }
        for (const auto& [line, bytes] : covered) {
            explained_[line] += bytes;
        }
    }
    std::vector<Advice> take() {
        std::stable_sort(found_.begin(), found_.end(), is_larger);
        return std::move(found_);
    }

private:
    bool is_worth_a_sentence(const Advice& advice) const {
        return advice.saves_bytes.value_or(advice.held_bytes) * kLeastShareOfPeak >=
               std::max<uint64_t>(1, peaks_[0].bytes);
    }

    std::vector<Proposal>& proposals_;
    std::vector<LevelPeak> peaks_;  // peaks of the run, then two of each proposal
    BytesOfLines explained_;
    std::vector<Advice> found_;
};

std::vector<Advice> judge_all(const TraceReader& reader,
                              const Selection& selection,
                              std::optional<uint32_t> device,
                              std::vector<Proposal> proposals,
                              const Progress& progress) {
    std::vector<LevelChanges> alternatives;
    for (Proposal& proposal : proposals) {
        alternatives.push_back(std::move(proposal.most));
        proposal.knows_least = !proposal.least.empty();
        alternatives.push_back(std::move(proposal.least));
    }
    Judge judge(&proposals,
                altered_peaks(
                    reader, selection.request.measure, device, std::move(alternatives), progress));
    for (const CauseKind kind : {CauseKind::kFault, CauseKind::kTrade, CauseKind::kFact}) {
        judge.judge(kind);
    }
    return judge.take();
}

}  // namespace

AdviceReport build_advice(const TraceReader& reader,
                          const Selection& selection,
                          StackLookup& stacks,
                          const Progress& progress) {
    RecordedRun recorded(reader, selection, stacks, progress);
    const RunFacts& run = recorded.facts();
    AdviceReport report;
    report.is_sum = recorded.is_sum();
    report.health = recorded.health();
    report.device = recorded.device();
    report.is_peak_kept = recorded.is_peak_kept();
    if (!report.is_peak_kept) {
        return report;
    }
    if (const PhaseInterval* const phase = run.outermost_at(run.peak.event)) {
        report.phase = phase->name;
        report.step = phase->step;
    }
    Rules rules(run);
    recorded.follow_blocks(progress, [&rules](const RunBlock& block) { rules.see(block); });
    report.advice =
        judge_all(reader, selection, recorded.device_number(), rules.proposals(), progress);
    return report;
}

}  // namespace peakline::report
