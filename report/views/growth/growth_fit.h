// Whether what a row holds grows from sample to sample, and by how much.
//
// Note [Growth]
// A sample is what the row holds where a step ends; the first one is where the first step begins.
// Its floor there is the least it holds from then on: what came and went again (batches of
// different sizes, an evaluation) is not in the floor.
//
// A row grows when its floor rose in every window up to the end of the run, in six windows or more:
// six numbers in any order rise by chance once in 720 times. A window is one step; where the
// program adds something every few steps only, it is as many steps as it takes. Three more
// conditions:
// * The rising windows are a quarter of the run or more. Warm-up does not count: what is made in
//   the first steps and kept (optimizer state, workspaces) rises once.
// * Each half of them has a quarter of the gain or more. What slows down is filling up. The window
//   of the first step may be left out for it: a line may make what is kept, and then grow.
// * It ends higher than it ever was before them. What came back from there before will again.
// The number of blocks must rise, too. A row with as many blocks as before, each larger than the
// last (a tensor that is appended to, and so made anew), must have risen in twelve windows without
// a fall: sizes of batches differ, too, but not always upwards.
//
// The rate is what the ends of steps gained, divided by these steps. Where the gains repeat (+2,
// +8, +2, +8), they are whole periods: 5. Where they do not, steps at the begin that gained more
// than any later one do not count, up to a quarter of them: they are warm-up.
//
// A row that never fell, rose after the first step and did not in the last quarter has levelled
// off: a cache that is full, state of the optimizer. One that rose in three steps or more and fell
// at once by more than half of its range, twice or more, returns: the garbage collector, or a list
// that is emptied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace peakline::report {

// Of one row, by sample.
struct LevelSeries {
    std::vector<int64_t> bytes;      // in the measure that is asked for
    std::vector<int64_t> requested;  // they decide: the allocator rounds up, by much now and then
    std::vector<int64_t> counts;     // of blocks
};

inline constexpr size_t kLeastWindows = 6;
inline constexpr size_t kLeastWindowsReplaced = 12;
inline constexpr size_t kLeastSamples = kLeastWindows + 1;

enum class GrowthKind { kSteady, kGrows, kLevelledOff, kReturns };

struct GrowthFit {
    GrowthKind kind = GrowthKind::kSteady;
    // kGrows: the first one that is higher; kLevelledOff: the last one that is.
    size_t sample = 0;
    size_t window = 1;             // kGrows: samples in a window
    double bytes_per_sample = 0;   // kGrows: see Note [Growth]
    double blocks_per_sample = 0;  // kGrows: the same
    bool is_replaced = false;      // kGrows: as many blocks, larger ones
    int64_t gained_bytes = 0;      // kGrows: since it began
    int64_t level_bytes = 0;       // at the last sample; kReturns: the highest
    size_t fall_count = 0;         // kReturns
};

// With fewer than kLeastSamples samples nothing grows.
GrowthFit fit_growth(const LevelSeries& series);

}  // namespace peakline::report
