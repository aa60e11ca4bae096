// Live sets by context at the highest moments of ranges of events, as differences from one to the
// next. The caller ends the ranges and names the highest moment of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace peakline::report {

// The growth of one context since the previous moment.
struct PageChange {
    uint32_t context = 0;
    int64_t bytes = 0;
    int64_t count = 0;
};

class HighestSets {
public:
    void add(const PageChange& change);
    // Now is the highest moment of the open range.
    void mark();
    // Ends the range and appends its differences, sorted by context and without zeros. The next
    // range begins now, and now is its highest moment until the next mark().
    void close(std::vector<PageChange>* changes);

    // The last range that ended had its highest moment before these changes, after all.
    void take_back(const std::vector<PageChange>& changes);

    size_t context_count() const { return contexts_.size(); }
    // By context, without empty ones.
    std::vector<PageChange> live_now() const;

private:
    struct Sum {
        int64_t bytes = 0;
        int64_t count = 0;
    };
    struct Context {
        Sum now;
        Sum closed;         // at the highest moment of the last range that ended
        Sum since_highest;  // the part of `now` that came after the marked moment
        bool is_changed = false;
        bool is_since_highest = false;
    };
    Context& touched(uint32_t context);

    std::vector<Context> contexts_;
    std::vector<uint32_t> changed_;  // since the highest moment of the last range
    std::vector<uint32_t> since_highest_;
};

}  // namespace peakline::report
