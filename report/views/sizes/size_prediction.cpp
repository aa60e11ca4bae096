#include "size_prediction.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "report/replay/allocator_model/allocator_settings.h"
#include "report/replay/replay.h"
#include "report/trace/file/trace_error.h"
#include "report/views/selection/refusals.h"
#include "run_alignment.h"
#include "run_events.h"
#include "size_words.h"

namespace peakline::report {
namespace {

// Bounds further apart than this part of the peak are no prediction.
constexpr int64_t kMostDoubt = 20;
// A model that does not give the recorded peaks to this part is wrong.
constexpr int64_t kMostError = 50;

// With fewer, a cache for all tokens has the size of other values of a prefill.
constexpr uint64_t kLeastNewTokens = 4;

struct Side {
    const char* name;
    uint64_t StepSize::*number;
};
constexpr Side kSides[] = {{"batch", &StepSize::batch}, {"length", &StepSize::length}};

struct Recording {
    std::unique_ptr<TraceReader> own;  // nullptr: the reader of the caller
    const TraceReader* reader = nullptr;
    RunEvents run;
};

class Predictor {
public:
    Predictor(const TraceReader& reader,
              const Selection& selection,
              const SizesText& text,
              uint64_t budget_bytes,
              const Progress& progress,
              SizePrediction* result)
        : selection_(selection),
          budget_(static_cast<int64_t>(std::min(budget_bytes, kMaxBlockBytes))),
          progress_(progress),
          result_(*result) {
        for (const std::string& one : text.recorded) {
            const NamedSize named = recorded_size_of(one);
            Recording& recording = recordings_.emplace_back();
            if (recordings_.size() > 1) {
                recording.own = std::make_unique<TraceReader>(TraceReader::open_file(named.path));
            }
            recording.reader = recording.own ? recording.own.get() : &reader;
            need_time(*recording.reader, "plan --sizes");
            result_.recorded.push_back({named.size, std::string(recording.reader->name())});
            sizes_.push_back(named.size);
        }
        for (const std::string& one : text.at) {
            const AskedSize asked = asked_size_of(one);
            targets_.push_back(asked.size);
            new_tokens_.push_back(asked.new_tokens);
            is_serving_ = is_serving_ || asked.new_tokens != 0;
        }
    }

    void run() {
        read_runs();
        if (!result_.refusal.empty()) {
            return;
        }
        choose_base();
        if (!align()) {
            return;
        }
        collect_bytes();
        for (size_t i = 0; i < sizes_.size(); ++i) {
            result_.recorded[i].model_bytes =
                model_at({sizes_[i], RunPart::kWhole, sizes_[i].length}).peak.peak.bytes;
        }
        check_model();
        for (size_t i = 0; result_.refusal.empty() && i < targets_.size(); ++i) {
            predict(targets_[i], new_tokens_[i]);
        }
    }

private:
    const RunEvents& base() const { return recordings_[result_.base].run; }

    // A size, or one of its parts.
    struct Question {
        StepSize size;  // of the events
        RunPart part = RunPart::kWhole;
        // A cache that is made for all tokens at once is as for a prompt of this length.
        uint64_t cache_length = 0;
    };

    std::vector<Question> questions_of(const StepSize& size, uint64_t new_tokens) const {
        const uint64_t recorded = generation_.new_tokens;
        if (new_tokens == 0) {
            return {{size, RunPart::kWhole, size.length}};
        }
        const uint64_t whole = size.length + new_tokens;
        const uint64_t length = whole > recorded ? whole - recorded : 1;
        return {{size, RunPart::kPrefill, length},
                {{size.batch, length}, RunPart::kDecode, length}};
    }

    void predict(const StepSize& size, uint64_t new_tokens) {
        std::optional<uint64_t> largest;
        for (const Question& question : questions_of(size, new_tokens)) {
            Model model = model_at(question);
            add_rows(&model);
            SizedPeak peak = std::move(model.peak);
            peak.size = size;
            peak.new_tokens = new_tokens;
            if (is_doubtful(peak)) {
                peak.refusal = doubt_of(peak);
            } else if (budget_ != 0) {
                largest = largest.has_value() ? largest : largest_batch(size, new_tokens);
                peak.largest_batch = largest;
                find_parts(&peak);
            }
            if (question.part == RunPart::kDecode) {
                Question longer = question;
                ++longer.size.length;
                peak.token_bytes = (model_at(longer).peak.peak.bytes - peak.peak.bytes) /
                                   static_cast<int64_t>(size.batch);
            }
            result_.peaks.push_back(std::move(peak));
        }
    }

    void choose_base() {
        for (size_t i = 1; i < sizes_.size(); ++i) {
            const StepSize& most = sizes_[result_.base];
            if (sizes_[i].batch * sizes_[i].length >= most.batch * most.length) {
                result_.base = i;
            }
        }
        if (!parts_.empty()) {
            generation_ = parts_[result_.base];
        }
    }

    void read_runs() {
        ReplayRequest request = selection_.request;
        request.measure = format::Measure::kRequested;
        const ReplayResult whole = replay(*recordings_.front().reader, request, progress_);
        result_.health = whole.health;
        result_.device = whole.chosen.device;
        for (size_t i = 0; i < recordings_.size(); ++i) {
            Recording& one = recordings_[i];
            if (one.reader->checkpoint() != nullptr) {
                result_.refusal = std::string(one.reader->name()) +
                                  " does not keep every event; record it without --keep";
                return;
            }
            StackLookup stacks(one.reader->definitions(), selection_.frames);
            one.run = read_run(*one.reader, result_.device, stacks, origins_, progress_);
            result_.recorded[i].peak_bytes = one.run.peak_bytes;
            result_.recorded[i].block_count = one.run.bytes.size();
            take_size(one.run, &sizes_[i]);
            if (is_serving_ && !take_parts(*one.reader, stacks, i)) {
                return;
            }
        }
        for (const Side& side : kSides) {
            complete_side(side);
        }
        for (size_t i = 0; i < recordings_.size(); ++i) {
            result_.recorded[i].size = sizes_[i];
        }
    }

    bool take_parts(const TraceReader& reader, StackLookup& stacks, size_t recording) {
        const GenerationParts parts = generation_of(reader, selection_, stacks, progress_);
        parts_.push_back(parts);
        if (parts.new_tokens == 0) {
            result_.refusal = std::string(reader.name()) +
                              " has no generate() of transformers that decodes a token";
        } else if (parts.new_tokens < kLeastNewTokens && !reader.definitions().compiled.empty()) {
            result_.refusal = std::string(reader.name()) +
                              " decodes in compiled code, which hides its tokens; record "
                              "generate(disable_compile=True)";
        } else if (parts.new_tokens < kLeastNewTokens) {
            result_.refusal = std::string(reader.name()) + " makes " +
                              std::to_string(parts.new_tokens) + " new tokens; record " +
                              std::to_string(kLeastNewTokens) + " or more";
        } else if (parts.new_tokens != parts_.front().new_tokens) {
            result_.refusal = result_.recorded.front().name + " makes " +
                              std::to_string(parts_.front().new_tokens) + " new tokens, and " +
                              result_.recorded[recording].name + " " +
                              std::to_string(parts.new_tokens) +
                              "; record the same number, and other prompts";
        }
        return result_.refusal.empty();
    }

    // A size that the caller does not name follows from the inputs.
    static void take_size(const RunEvents& run, StepSize* size) {
        const StepSize found = run.size.value_or(StepSize{0, 0});
        size->batch = size->batch == 0 ? found.batch : size->batch;
        size->length = size->length == 0 ? found.length : size->length;
    }

    // A side that no recording knows is 1, and a size to predict may leave out one that all share.
    void complete_side(const Side& side) {
        std::set<uint64_t> known;
        for (size_t i = 0; i < sizes_.size(); ++i) {
            known.insert(sizes_[i].*side.number);
        }
        if (known.size() > 1 && known.count(0) != 0) {
            const auto none = std::find_if(sizes_.begin(), sizes_.end(), [&](const StepSize& size) {
                return size.*side.number == 0;
            });
            result_.refusal = "the inputs of " +
                              result_.recorded[static_cast<size_t>(none - sizes_.begin())].name +
                              " do not show its " + side.name +
                              "; name it: FILE:batch=8,length=512";
            return;
        }
        for (StepSize& target : targets_) {
            if (target.*side.number == 0 && known.size() > 1) {
                result_.refusal = std::string("--at names no ") + side.name +
                                  ", and it differs between the recordings";
            } else if (target.*side.number != 0 && *known.begin() == 0) {
                result_.refusal = std::string("--at names a ") + side.name +
                                  ", and the recordings do not show theirs; name it:"
                                  " FILE:batch=8,length=512";
            } else if (target.*side.number == 0) {
                target.*side.number = std::max<uint64_t>(1, *known.begin());
            }
        }
        for (StepSize& size : sizes_) {
            size.*side.number = std::max<uint64_t>(1, size.*side.number);
        }
    }

    bool align() {
        pairs_.resize(recordings_.size());
        for (size_t i = 0; i < recordings_.size(); ++i) {
            const std::vector<uint32_t>& other = recordings_[i].run.origins;
            auto aligned = align_runs(base().origins, other);
            if (!aligned.has_value()) {
                result_.refusal = difference_of(i);
                return false;
            }
            pairs_[i] = std::move(*aligned);
            const auto common = static_cast<uint64_t>(
                std::count_if(pairs_[i].begin(), pairs_[i].end(), [](uint32_t pair) {
                    return pair != kNotAligned;
                }));
            result_.recorded[i].only_here = other.size() - common;
        }
        return true;
    }

    std::string difference_of(size_t i) const {
        const RunEvents& other = recordings_[i].run;
        size_t at = 0;
        while (at < base().origins.size() && at < other.origins.size() &&
               base().origins[at] == other.origins[at]) {
            ++at;
        }
        const auto text = [&](const RunEvents& run) {
            return at < run.origins.size()
                       ? origins_.op(run.origins[at]) + " at " + origins_.line(run.origins[at]).key
                       : std::string("the end");
        };
        return "the recordings do not make the same allocations (" +
               std::to_string(base().origins.size()) + " and " +
               std::to_string(other.origins.size()) +
               "). Record the same program with the same --steps. First difference, allocation " +
               std::to_string(at + 1) + ": " + text(base()) + ", and " + text(other);
    }

    void collect_bytes() {
        GrowthFitter fitter(sizes_, {});
        for (size_t block = 0; block < base().bytes.size(); ++block) {
            std::vector<uint64_t> bytes;
            for (size_t i = 0; i < recordings_.size(); ++i) {
                const uint32_t pair = pairs_[i][block];
                bytes.push_back(pair == kNotAligned ? kNoBytes : recordings_[i].run.bytes[pair]);
            }
            const bool is_everywhere =
                std::find(bytes.begin(), bytes.end(), kNoBytes) == bytes.end();
            result_.changed_count += is_everywhere ? 0 : 1;
            result_.checked_count += fitter.of(bytes).growth < Growth::kTwoTerms ? 1 : 0;
            const auto [at, is_new] =
                kinds_.try_emplace(std::move(bytes), static_cast<uint32_t>(kinds_.size()));
            kind_of_.push_back(at->second);
        }
    }

    // A mask has the length of the cache in one of its lengths; the other is that of the prompt.
    static BlockGrowth in_cache(BlockGrowth growth, const Question& question) {
        const bool is_mask =
            growth.growth == Growth::kBatchLengthSquared || growth.growth == Growth::kLengthSquared;
        if (is_mask) {
            const auto rows = static_cast<int64_t>(question.size.length);
            const auto recorded = static_cast<int64_t>(question.cache_length);
            const int64_t bytes = growth.at.front().bytes / recorded * rows;
            growth.at.front() = {bytes, bytes, bytes};
        }
        return growth;
    }

    // The peak at one size, without rows; and the growth of each kind of block.
    struct Model {
        SizedPeak peak;
        std::vector<BlockGrowth> growth;  // by kind
        std::vector<uint32_t> live;       // blocks at the peak
    };

    Model model_at(const Question& question) const {
        Model model;
        model.growth.resize(kinds_.size());
        GrowthFitter fitter(sizes_, {question.size});
        GrowthFitter caches(sizes_, {{question.size.batch, question.cache_length}});
        const auto whole = static_cast<int64_t>(generation_.new_tokens);
        for (const auto& [bytes, kind] : kinds_) {
            const BlockGrowth& growth = fitter.of(bytes);
            const bool is_cache = question.part == RunPart::kPrefill &&
                                  (growth.shift == whole || growth.shift == whole - 1);
            model.growth[kind] = is_cache ? in_cache(caches.of(bytes), question) : growth;
        }
        GrownBytes level;
        GrownBytes most;
        size_t event = 0;
        follow_run(
            base(),
            [&](uint32_t block, int sign) {
                const GrownBytes& bytes = model.growth[kind_of_[block]].at.front();
                level.add(bytes, sign);
            },
            [&](size_t i) {
                if (!generation_.has(question.part, base().events[i].number)) {
                    return;
                }
                event = level.bytes > most.bytes ? i : event;
                most.bytes = std::max(most.bytes, level.bytes);
                most.low = std::max(most.low, level.low);
                most.high = std::max(most.high, level.high);
            });
        model.peak.size = question.size;
        model.peak.part = question.part;
        model.peak.peak = most;
        if (event < base().events.size()) {
            model.peak.line = line_at(event);
            model.live = live_at(event);
        }
        for (const uint32_t block : model.live) {
            const int64_t bytes = model.growth[kind_of_[block]].at.front().bytes;
            model.peak.block_bytes += static_cast<int64_t>(
                in_least_blocks(static_cast<uint64_t>(bytes)) + base().spare[block]);
        }
        return model;
    }

    static bool is_doubtful(const SizedPeak& peak) {
        return peak.peak.high - peak.peak.low > peak.peak.bytes / kMostDoubt;
    }

    bool fits(const SizedPeak& peak, int64_t more = 0) const {
        return !is_doubtful(peak) && peak.most_block_bytes() + more <= budget_;
    }

    // The peak never falls with the batch.
    uint64_t largest_batch(const StepSize& size, uint64_t new_tokens) const {
        const auto fits_with = [&](uint64_t batch) {
            const std::vector<Question> all = questions_of({batch, size.length}, new_tokens);
            return std::all_of(all.begin(), all.end(), [this](const Question& question) {
                return fits(model_at(question).peak);
            });
        };
        uint64_t low = 0;
        uint64_t high = 1;
        while (high <= kMostOfSize && fits_with(high)) {
            low = high;
            high *= 2;
        }
        while (high - low > 1) {
            const uint64_t middle = low + (high - low) / 2;
            (fits_with(middle) ? low : high) = middle;
        }
        return low;
    }

    // The fewest equal parts that fit.
    void find_parts(SizedPeak* peak) const {
        const auto gradients = static_cast<int64_t>(base().gradient_bytes);
        const uint64_t batch = peak->size.batch;
        if (fits(*peak) || gradients == 0 || peak->part != RunPart::kWhole) {
            return;
        }
        for (uint64_t parts = 2; parts <= batch; ++parts) {
            if (batch % parts != 0) {
                continue;
            }
            const StepSize part_size = {batch / parts, peak->size.length};
            const SizedPeak part = model_at({part_size, RunPart::kWhole, part_size.length}).peak;
            if (fits(part, gradients)) {
                peak->in_parts = {parts, batch / parts, part.most_block_bytes() + gradients};
                return;
            }
        }
    }

    // Where tracing began above every later level, no allocation reached it.
    Label line_at(size_t event) const {
        const RunEvents::Event& one = base().events[event];
        return one.step == RunStep::kAlloc ? origins_.line(base().origins[one.block]) : Label{};
    }

    std::vector<uint32_t> live_at(size_t event) const {
        std::vector<bool> is_live(base().bytes.size());
        for (size_t i = 0; i <= event; ++i) {
            const RunEvents::Event& one = base().events[i];
            if (one.step == RunStep::kAlloc || one.step == RunStep::kFree) {
                is_live[one.block] = one.step == RunStep::kAlloc;
            }
        }
        std::vector<uint32_t> live;
        for (uint32_t block = 0; block < is_live.size(); ++block) {
            if (is_live[block]) {
                live.push_back(block);
            }
        }
        return live;
    }

    void add_rows(Model* model) const {
        std::map<std::pair<uint32_t, Growth>, SizedRow> rows;
        for (const uint32_t block : model->live) {
            const BlockGrowth& growth = model->growth[kind_of_[block]];
            const uint32_t line = origins_.line_number(base().origins[block]);
            const auto [place, is_new] = rows.try_emplace({line, growth.growth});
            SizedRow& row = place->second;
            if (is_new) {
                row.line = origins_.line(base().origins[block]);
                row.growth = row.other = growth.growth;
            }
            row.other = growth.other != growth.growth ? growth.other : row.other;
            ++row.count;
            row.bytes.add(growth.at.front(), 1);
        }
        std::vector<SizedRow>& sorted = model->peak.rows;
        for (auto& [key, row] : rows) {
            sorted.push_back(std::move(row));
        }
        std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
            return a.bytes.bytes > b.bytes.bytes;
        });
    }

    void check_model() {
        for (const RecordedSize& one : result_.recorded) {
            const auto real = static_cast<int64_t>(one.peak_bytes);
            if (std::abs(real - one.model_bytes) > real / kMostError) {
                result_.refusal = "the model does not give the recorded peak of " + one.name +
                                  ": kernels change between these sizes. Record larger sizes";
                return;
            }
        }
    }

    // The reason for bounds that are far apart.
    std::string doubt_of(const SizedPeak& peak) const {
        const auto most = std::max_element(
            peak.rows.begin(), peak.rows.end(), [](const SizedRow& a, const SizedRow& b) {
                return a.bytes.high - a.bytes.low < b.bytes.high - b.bytes.low;
            });
        return most == peak.rows.end() ? "kernels change with the size"
                                       : reason_of_doubt(sizes_, most->growth, most->other);
    }

    const Selection& selection_;
    int64_t budget_;  // 0: none
    const Progress& progress_;
    SizePrediction& result_;
    std::vector<Recording> recordings_;
    std::vector<StepSize> sizes_;  // of the recordings
    std::vector<StepSize> targets_;
    std::vector<uint64_t> new_tokens_;  // by target
    bool is_serving_ = false;
    std::vector<GenerationParts> parts_;  // by recording
    GenerationParts generation_;          // of the base
    OriginNumbers origins_;
    std::vector<std::vector<uint32_t>> pairs_;         // by recording
    std::map<std::vector<uint64_t>, uint32_t> kinds_;  // blocks of equal bytes in all recordings
    std::vector<uint32_t> kind_of_;                    // by block of the base
};

}  // namespace

SizePrediction predict_sizes(const TraceReader& reader,
                             const Selection& selection,
                             const SizesText& text,
                             uint64_t budget_bytes,
                             const Progress& progress) {
    SizePrediction result;
    if (text.recorded.size() < 2 || text.at.empty()) {
        throw TraceError("plan --sizes needs two recordings or more, and a size to predict");
    }
    Predictor(reader, selection, text, budget_bytes, progress, &result).run();
    return result;
}

}  // namespace peakline::report
