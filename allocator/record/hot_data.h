// Globals that every event reads, in whatever file, stand side by side: a few cache lines and one
// page instead of a dozen, which between two events of a whole step have left the nearest cache.
// (Functions of every event are gnu::hot for the same reason: the linker puts them side by side,
// two pages instead of ten.)
//
// Note [In one line]
// Between two events of a whole step torch runs through more code than the nearest cache holds: so
// every 64 bytes of ours that an event runs through are fetched anew, and push out 64 of torch's.
// There a jump over what is rarely done costs more than doing it. So on the way of an event what is
// rare is marked [[unlikely]] (the compiler puts it behind the function), comparisons that mostly
// hold are joined without branches, and fields that are used together lie together.
#pragma once

#define PEAKLINE_HOT_DATA gnu::section("peakline_hot")
