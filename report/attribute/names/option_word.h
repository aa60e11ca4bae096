// A value of an option, and its meaning in a few words: --help shows both.
#pragma once

namespace peakline::report {

struct OptionWord {
    const char* name;
    const char* help;
};

}  // namespace peakline::report
