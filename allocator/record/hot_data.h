// Globals that every event reads, in whatever file, stand side by side: a few cache lines and one
// page instead of a dozen, which between two events of a whole step have left the nearest cache.
// (Functions of every event are gnu::hot for the same reason: the linker puts them side by side,
// two pages instead of ten.)
#pragma once

#define PEAKLINE_HOT_DATA gnu::section("peakline_hot")
