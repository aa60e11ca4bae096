// Decides whether the bytes of a row grow from sample to sample, and by how much.
//
// Note [Growth]
// A sample is the bytes of the row at the end of a step; the first one is at the beginning of the
// first step. The floor of a sample is the minimum from there on: memory that came and went again
// (batches of different sizes, an evaluation) is not in the floor.
//
// A row grows when its floor rose in every window up to the end of the run, in six windows or more:
// six numbers in any order rise by chance once in 720 times. A window is one step; if the program
// adds memory only every few steps, it is that many steps. Three more conditions:
// * The rising windows are a quarter of the run or more. Warm-up does not count: memory that
//   the first steps make and keep (optimizer state, workspaces) rises once.
// * Each half of them has a quarter of the gain or more. A slower second half is filling up. The
//   window of the first step may be left out here: a line may make kept memory, and then grow.
// * It ends higher than it ever was before them. Memory that once came back will come back again.
// The number of blocks must rise, too. A row with as many blocks as before, each larger than the
// last (a tensor that is appended to, and so made anew), must have risen in twelve windows without
// a fall: sizes of batches differ, too, but not always upwards.
//
// The rate is the gain at the ends of steps, divided by these steps. If the gains repeat (+2, +8,
// +2, +8), whole periods count: 5. If they do not, steps at the beginning that gained more than any
// later one do not count, up to a quarter of them: they are warm-up.
//
// A row that never fell, rose after the first step and did not in the last quarter has levelled
// off: a cache that is full, state of the optimizer. A row that rose in three steps or more and
// fell at once by more than half of its range, twice or more, returns: the garbage collector, or a
// list that is emptied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace peakline::report {

// The values of one row, by sample.
struct LevelSeries {
    std::vector<int64_t> bytes;      // in the requested measure
    std::vector<int64_t> requested;  // they decide, because the allocator's rounding can be large
    std::vector<int64_t> counts;     // of blocks
};

inline constexpr size_t kLeastWindows = 6;
inline constexpr size_t kLeastWindowsReplaced = 12;
inline constexpr size_t kLeastSamples = kLeastWindows + 1;

enum class GrowthKind { kSteady, kGrows, kLevelledOff, kReturns };

struct GrowthFit {
    GrowthKind kind = GrowthKind::kSteady;
    // kGrows: the first higher sample; kLevelledOff: the last one.
    size_t sample = 0;
    size_t window = 1;             // kGrows: samples in a window
    double bytes_per_sample = 0;   // kGrows: see Note [Growth]
    double blocks_per_sample = 0;  // kGrows: the same
    bool is_replaced = false;      // kGrows: as many blocks, larger ones
    int64_t gained_bytes = 0;      // kGrows: since it began
    int64_t level_bytes = 0;       // at the last sample; kReturns: the highest
    size_t fall_count = 0;         // kReturns
};

// With fewer than kLeastSamples samples no row grows.
GrowthFit fit_growth(const LevelSeries& series);

}  // namespace peakline::report
