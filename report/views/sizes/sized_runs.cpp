#include "sized_runs.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "report/replay/replay.h"
#include "report/views/selection/refusals.h"
#include "run_alignment.h"

namespace peakline::report {
namespace {

// With fewer, a cache for all tokens has the size of other values of a prefill.
constexpr uint64_t kLeastNewTokens = 4;

struct Side {
    const char* name;
    uint64_t StepSize::*number;
};
constexpr Side kSides[] = {{"batch", &StepSize::batch}, {"length", &StepSize::length}};

class RunsReader {
public:
    RunsReader(const TraceReader& first, const Selection& selection, const Progress& progress)
        : first_(first), selection_(selection), progress_(progress) {}

    SizedRuns read(const SizesText& text) {
        open(text);
        read_runs();
        if (result_.refusal.empty()) {
            choose_base();
            align();
        }
        return std::move(result_);
    }

private:
    void open(const SizesText& text) {
        for (const std::string& one : text.recorded) {
            const NamedSize named = recorded_size_of(one);
            if (!readers_.empty()) {
                own_.push_back(std::make_unique<TraceReader>(TraceReader::open_file(named.path)));
            }
            const TraceReader& reader = readers_.empty() ? first_ : *own_.back();
            readers_.push_back(&reader);
            need_time(reader, "plan --sizes");
            SizedRun& run = result_.runs.emplace_back();
            run.size = named.size;
            run.name = reader.name();
        }
        for (const std::string& one : text.at) {
            result_.targets.push_back(asked_size_of(one));
            is_serving_ = is_serving_ || result_.targets.back().new_tokens != 0;
        }
    }

    void read_runs() {
        ReplayRequest request = selection_.request;
        request.measure = format::Measure::kRequested;
        const ReplayResult whole = replay(first_, request, progress_);
        result_.health = whole.health;
        result_.device = whole.chosen.device;
        for (size_t i = 0; i < readers_.size(); ++i) {
            const TraceReader& reader = *readers_[i];
            SizedRun& run = result_.runs[i];
            if (reader.checkpoint() != nullptr) {
                result_.refusal = run.name + " does not keep every event; record it without --keep";
                return;
            }
            StackLookup stacks(reader.definitions(), selection_.frames);
            run.events = read_run(reader, result_.device, stacks, result_.origins, progress_);
            take_size(&run);
            if (is_serving_ && !take_parts(reader, stacks, run)) {
                return;
            }
        }
        for (const Side& side : kSides) {
            complete_side(side);
        }
    }

    bool take_parts(const TraceReader& reader, StackLookup& stacks, const SizedRun& run) {
        const GenerationParts parts = generation_of(reader, selection_, stacks, progress_);
        parts_.push_back(parts);
        if (parts.new_tokens == 0) {
            result_.refusal = run.name + " has no generate() of transformers that decodes a token";
        } else if (parts.new_tokens < kLeastNewTokens && !reader.definitions().compiled.empty()) {
            result_.refusal = run.name + " decodes in compiled code, which hides its tokens; " +
                              "record generate(disable_compile=True)";
        } else if (parts.new_tokens < kLeastNewTokens) {
            result_.refusal = run.name + " makes " + std::to_string(parts.new_tokens) +
                              " new tokens; record " + std::to_string(kLeastNewTokens) + " or more";
        } else if (parts.new_tokens != parts_.front().new_tokens) {
            result_.refusal = result_.runs.front().name + " makes " +
                              std::to_string(parts_.front().new_tokens) + " new tokens, and " +
                              run.name + " " + std::to_string(parts.new_tokens) +
                              "; record the same number, and other prompts";
        }
        return result_.refusal.empty();
    }

    // A size that the caller does not name follows from the inputs.
    static void take_size(SizedRun* run) {
        const StepSize found = run->events.size.value_or(StepSize{0, 0});
        StepSize& size = run->size;
        size.batch = size.batch == 0 ? found.batch : size.batch;
        size.length = size.length == 0 ? found.length : size.length;
    }

    // A side that no recording knows is 1, and a size to predict may leave out one that all share.
    void complete_side(const Side& side) {
        std::set<uint64_t> known;
        for (const SizedRun& run : result_.runs) {
            known.insert(run.size.*side.number);
        }
        if (known.size() > 1 && known.count(0) != 0) {
            const auto none =
                std::find_if(result_.runs.begin(), result_.runs.end(), [&](const SizedRun& run) {
                    return run.size.*side.number == 0;
                });
            result_.refusal = "the inputs of " + none->name + " do not show its " + side.name +
                              "; name it: FILE:batch=8,length=512";
            return;
        }
        for (AskedSize& target : result_.targets) {
            complete_target(side, known, &target.size);
        }
        for (SizedRun& run : result_.runs) {
            run.size.*side.number = std::max<uint64_t>(1, run.size.*side.number);
        }
    }

    void complete_target(const Side& side, const std::set<uint64_t>& known, StepSize* target) {
        if (target->*side.number == 0 && known.size() > 1) {
            result_.refusal = std::string("--at names no ") + side.name +
                              ", and it differs between the recordings";
        } else if (target->*side.number != 0 && *known.begin() == 0) {
            result_.refusal = std::string("--at names a ") + side.name +
                              ", and the recordings do not show theirs; name it:"
                              " FILE:batch=8,length=512";
        } else if (target->*side.number == 0) {
            target->*side.number = std::max<uint64_t>(1, *known.begin());
        }
    }

    void choose_base() {
        for (size_t i = 1; i < result_.runs.size(); ++i) {
            const StepSize& one = result_.runs[i].size;
            const StepSize& most = result_.runs[result_.base].size;
            if (one.batch * one.length >= most.batch * most.length) {
                result_.base = i;
            }
        }
        if (!parts_.empty()) {
            result_.generation = parts_[result_.base];
        }
    }

    void align() {
        const std::vector<uint32_t>& base = result_.runs[result_.base].events.origins;
        for (SizedRun& run : result_.runs) {
            auto aligned = align_runs(base, run.events.origins);
            if (!aligned.has_value()) {
                result_.refusal = difference_of(base, run.events.origins);
                return;
            }
            run.block_of = std::move(*aligned);
            const auto common = static_cast<uint64_t>(
                std::count_if(run.block_of.begin(), run.block_of.end(), [](uint32_t block) {
                    return block != kNotAligned;
                }));
            run.only_here = run.events.origins.size() - common;
        }
    }

    std::string difference_of(const std::vector<uint32_t>& base,
                              const std::vector<uint32_t>& other) const {
        size_t at = 0;
        while (at < base.size() && at < other.size() && base[at] == other[at]) {
            ++at;
        }
        const auto text = [&](const std::vector<uint32_t>& origins) {
            return at < origins.size() ? result_.origins.op(origins[at]) + " at " +
                                             result_.origins.line(origins[at]).key
                                       : std::string("the end");
        };
        return "the recordings do not make the same allocations (" + std::to_string(base.size()) +
               " and " + std::to_string(other.size()) +
               "). Record the same program with the same --steps. First difference, allocation " +
               std::to_string(at + 1) + ": " + text(base) + ", and " + text(other);
    }

    const TraceReader& first_;
    const Selection& selection_;
    const Progress& progress_;
    SizedRuns result_;
    std::vector<std::unique_ptr<TraceReader>> own_;
    std::vector<const TraceReader*> readers_;  // by run
    bool is_serving_ = false;
    std::vector<GenerationParts> parts_;  // by run
};

}  // namespace

SizedRuns read_sized_runs(const TraceReader& reader,
                          const Selection& selection,
                          const SizesText& text,
                          const Progress& progress) {
    return RunsReader(reader, selection, progress).read(text);
}

}  // namespace peakline::report
