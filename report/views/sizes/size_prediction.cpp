#include "size_prediction.h"

#include <algorithm>
#include <map>
#include <utility>

#include "report/replay/allocator_model/allocator_settings.h"
#include "report/trace/file/trace_error.h"
#include "run_alignment.h"
#include "size_words.h"
#include "sized_runs.h"

namespace peakline::report {
namespace {

// Bounds further apart than this part of the peak are no prediction.
constexpr int64_t kMostDoubt = 20;
// A model that does not give the recorded peaks to this part is wrong.
constexpr int64_t kMostError = 50;

class Predictor {
public:
    Predictor(SizedRuns runs, uint64_t budget_bytes, SizePrediction* result)
        : runs_(std::move(runs)),
          budget_(static_cast<int64_t>(std::min(budget_bytes, kMaxBlockBytes))),
          result_(*result) {
        for (const SizedRun& run : runs_.runs) {
            sizes_.push_back(run.size);
        }
    }

    void run() {
        take_recorded();
        if (!result_.refusal.empty()) {
            return;
        }
        collect_bytes();
        for (RecordedSize& one : result_.recorded) {
            one.model_bytes =
                model_at({one.size, RunPart::kWhole, one.size.length}).peak.peak.bytes;
        }
        check_model();
        for (size_t i = 0; result_.refusal.empty() && i < runs_.targets.size(); ++i) {
            predict(runs_.targets[i].size, runs_.targets[i].new_tokens);
        }
    }

private:
    const RunEvents& base() const { return runs_.runs[runs_.base].events; }

    void take_recorded() {
        result_.health = runs_.health;
        result_.device = runs_.device;
        result_.refusal = runs_.refusal;
        result_.base = runs_.base;
        for (const SizedRun& run : runs_.runs) {
            RecordedSize& one = result_.recorded.emplace_back();
            one.size = run.size;
            one.name = run.name;
            one.peak_bytes = run.events.peak_bytes;
            one.block_count = run.events.bytes.size();
            one.only_here = run.only_here;
        }
    }

    // A size, or one of its parts.
    struct Question {
        StepSize size;  // of the events
        RunPart part = RunPart::kWhole;
        // A cache that is made for all tokens at once is as for a prompt of this length.
        uint64_t cache_length = 0;
    };

    std::vector<Question> questions_of(const StepSize& size, uint64_t new_tokens) const {
        const uint64_t recorded = runs_.generation.new_tokens;
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

    void collect_bytes() {
        GrowthFitter fitter(sizes_, {});
        for (size_t block = 0; block < base().bytes.size(); ++block) {
            std::vector<uint64_t> bytes;
            for (const SizedRun& run : runs_.runs) {
                const uint32_t same = run.block_of[block];
                bytes.push_back(same == kNotAligned ? kNoBytes : run.events.bytes[same]);
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
        const auto whole = static_cast<int64_t>(runs_.generation.new_tokens);
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
                if (!runs_.generation.has(question.part, base().events[i].number)) {
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
        return one.step == RunStep::kAlloc ? runs_.origins.line(base().origins[one.block])
                                           : Label{};
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
            const uint32_t line = runs_.origins.line_number(base().origins[block]);
            const auto [place, is_new] = rows.try_emplace({line, growth.growth});
            SizedRow& row = place->second;
            if (is_new) {
                row.line = runs_.origins.line(base().origins[block]);
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

    SizedRuns runs_;
    int64_t budget_;  // 0: none
    SizePrediction& result_;
    std::vector<StepSize> sizes_;                      // of the recordings
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
    Predictor(read_sized_runs(reader, selection, text, progress), budget_bytes, &result).run();
    return result;
}

}  // namespace peakline::report
