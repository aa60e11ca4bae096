#include "advice.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "report/replay/all_facts.h"
#include "report/replay/levels/choose_device.h"
#include "report/replay/totals/altered_levels.h"
#include "report/replay/values/device_names.h"
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

// The keys of BlockOrigin, in its order.
std::vector<const Grouping*> origin_keys() {
    return {&find_grouping("line"),
            &find_grouping("op"),
            &find_grouping("module"),
            &find_grouping("category")};
}

// The lines where the program called methods of its optimizers.
class CallerFollower : public BlockFollower {
public:
    explicit CallerFollower(StackLookup& stacks) : stacks_(stacks) {}

    void on_rare(const RareEvent& event, EventTime at) {
        if (const auto caller = event.as<format::ScopeCaller>()) {
            BlockGroup group;
            group.context =
                stacks_.definitions().known_context(static_cast<uint32_t>(caller->context));
            const auto [line, is_new] = lines_.try_emplace(group.context);
            if (is_new) {
                line->second = row_by_line(stacks_, group).label;
            }
            callers_.emplace(at.event, line->second);
        }
    }
    std::map<uint64_t, Label> take() { return std::move(callers_); }

private:
    StackLookup& stacks_;
    std::map<uint32_t, Label> lines_;  // by context
    std::map<uint64_t, Label> callers_;
};

// Passes every block of a device to the rules.
class RuleFollower : public BlockFollower {
public:
    RuleFollower(const BlockStream& stream,
                 const AllFacts& facts,
                 const RunFacts& run,
                 const ReplayRequest& request,
                 std::optional<uint32_t> device,
                 BlockKeys& keys)
        : definitions_(stream.definitions()),
          facts_(facts),
          run_(run),
          measure_(request.measure),
          device_(device),
          keys_(keys),
          facets_(keys, run.phases),
          histories_(run.phases, keys.stacks().phase_rules()) {
        for (MakeRule* const make : kRules) {
            rules_.push_back(make(run));
        }
        compiler_rule_ = kCompilerRule(run);
    }

    void restore(const Checkpoint& checkpoint) {
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            see(ordinal, checkpoint.blocks[ordinal].shape);
        }
    }
    void on_alloc(const BlockAlloc& block) { see(block.ordinal, block.shape); }

    std::vector<Proposal> proposals() {
        std::vector<Proposal> all;
        for (const auto& rule : rules_) {
            rule->propose(&all);
        }
        compiler_rule_->propose(&all);
        return all;
    }

private:
    void see(uint64_t ordinal, const AllocationShape& shape) {
        if (!is_counted(device_, shape.device)) {
            return;
        }
        TrackedBlock block{ordinal, {}, facts_.of(ordinal)};
        BlockGroup& group = block.block;
        group.context = shape.context;
        group.stream = shape.stream;
        group.device = shape.device;
        group.requested_bytes = shape.requested_bytes;
        group.block_bytes = shape.block_bytes;
        group.count = 1;
        group.tensor = definitions_.tensor_of(ordinal);
        group.facets = facets_.of(block);
        const BlockHistory history = histories_.of(block);
        const bool is_at_peak =
            block.facts.alloc_event <= run_.peak.event && run_.peak.event < block.facts.free_event;
        RunBlock seen{bytes_of(shape, measure_),
                      is_at_peak,
                      definitions_.type_of(ordinal),
                      group,
                      block.facts,
                      history,
                      origin_of(group)};
        weights_.see(seen, definitions_);
        seen.is_weight_copy = weights_.is_one(seen);
        if (is_compiling(history.made_in)) {
            compiler_rule_->see(seen);
            return;
        }
        for (const auto& rule : rules_) {
            rule->see(seen);
        }
    }

    const BlockOrigin& origin_of(const BlockGroup& group) {
        const auto [at, is_new] = origins_.try_emplace(key_of_group(group));
        if (is_new) {
            std::vector<Label> labels = keys_.keyed_row(group).labels;
            at->second = {std::move(labels[0]), labels[1].name, labels[2].name, labels[3].name};
        }
        return at->second;
    }

    const Definitions& definitions_;
    const AllFacts& facts_;
    const RunFacts& run_;
    format::Measure measure_;
    std::optional<uint32_t> device_;
    BlockKeys& keys_;
    FacetsOfBlocks facets_;
    BlockHistories histories_;
    WeightCopies weights_;
    std::vector<std::unique_ptr<AdviceRule>> rules_;
    std::unique_ptr<AdviceRule> compiler_rule_;
    std::map<GroupKey, BlockOrigin> origins_;
};

std::vector<LevelPeak> altered_peaks(const TraceReader& reader,
                                     format::Measure measure,
                                     std::optional<uint32_t> device,
                                     std::vector<LevelChanges> alternatives,
                                     const Progress& progress) {
    BlockStream stream(reader);
    AlteredLevels levels(measure, device, std::move(alternatives));
    stream.run(progress, levels);
    return levels.finish(stream.end());
}

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

std::vector<const PhaseInterval*> passes_of(const std::vector<const PhaseInterval*>& outermost,
                                            uint32_t main_thread) {
    std::vector<const PhaseInterval*> passes;
    for (const PhaseInterval* const interval : outermost) {
        if (interval->phase == Phase::kForward && interval->thread == main_thread) {
            passes.push_back(interval);
        }
    }
    return passes;
}

std::vector<const PhaseInterval*> outermost_of(const PhaseTable& table) {
    std::vector<const PhaseInterval*> intervals;
    for (const PhaseInterval& interval : table.phases) {
        if (interval.depth == 0) {
            intervals.push_back(&interval);
        }
    }
    return intervals;
}

}  // namespace

AdviceReport build_advice(const TraceReader& reader,
                          const Selection& selection,
                          StackLookup& stacks,
                          const Progress& progress) {
    const ReplayRequest& request = selection.request;
    AdviceReport report;
    report.is_sum = request.device.kind == DeviceChoiceKind::kAll;
    BlockStream stream(reader);
    PhaseReplay phases(stream, stacks.phase_rules(), {request.measure, report.is_sum});
    AllFacts facts(reader, stacks.phase_rules(), request.measure, phases);
    CallerFollower callers(stacks);
    stream.run(progress, phases, facts, callers);
    const PhaseResult found = phases.finish();
    report.health = found.health;
    report.device = choose_device(
        found.devices, report.is_sum ? DeviceChoice() : request.device, reader.name());
    const std::optional<uint32_t> device =
        report.is_sum ? std::nullopt : std::optional(report.device.device);

    RunFacts run{found.table,
                 reader.definitions(),
                 {},
                 outermost_of(found.table),
                 passes_of(outermost_of(found.table), found.table.main_thread),
                 callers.take(),
                 request.measure};
    run.peak = altered_peaks(reader, request.measure, device, {}, progress).front();
    report.is_peak_kept = run.peak.bytes == report.device.peak_bytes;
    if (!report.is_peak_kept) {
        return report;
    }
    if (const PhaseInterval* const phase = run.outermost_at(run.peak.event)) {
        report.phase = phase->name;
        report.step = phase->step;
    }
    BlockKeys keys(origin_keys(), origin_keys().size(), stacks);
    BlockStream again(reader);
    RuleFollower rules(again, facts, run, request, device, keys);
    again.run(progress, rules);
    report.advice = judge_all(reader, selection, device, rules.proposals(), progress);
    return report;
}

}  // namespace peakline::report
