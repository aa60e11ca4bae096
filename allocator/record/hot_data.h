// Globals that every event reads are adjacent, from whatever file: a few cache lines and one page
// instead of a dozen. (Functions of every event are gnu::hot for the same reason: the
// linker puts them side by side, on two pages instead of ten.)
//
// Note [In one line]
// A step of torch runs through more code between two events than the nearest cache holds. So
// each cache line of our code is a miss, and evicts one of torch's; a jump over rare code costs
// more than the code. Therefore rare branches of the hot path are marked [[unlikely]] (the compiler
// moves them behind the function), comparisons that mostly hold are joined without branches, and
// fields that are used together lie together.
#pragma once

#define PEAKLINE_HOT_DATA gnu::section("peakline_hot")
