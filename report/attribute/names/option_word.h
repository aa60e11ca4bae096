// A word that an option takes, and what it means in a few words: --help shows both.
#pragma once

namespace peakline::report {

struct OptionWord {
    const char* name;
    const char* help;
};

}  // namespace peakline::report
