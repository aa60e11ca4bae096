// Problems of a trace that could still be read. Every report shows these texts; a hostile file
// cannot make the list long.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace peakline::report {

class Problems {
public:
    static constexpr size_t kKept = 50;

    void add(std::string text) {
        ++count_;
        if (kept_.size() < kKept) {
            kept_.push_back(std::move(text));
        }
    }

    void append(const Problems& others) {
        for (const std::string& text : others.kept_) {
            add(text);
        }
        count_ += others.count_ - others.kept_.size();
    }

    bool empty() const { return count_ == 0; }

    // The kept texts, followed by the count of the others.
    std::vector<std::string> texts() const {
        std::vector<std::string> all = kept_;
        if (count_ > kept_.size()) {
            all.push_back("and " + std::to_string(count_ - kept_.size()) + " more problems");
        }
        return all;
    }

private:
    std::vector<std::string> kept_;
    uint64_t count_ = 0;
};

}  // namespace peakline::report
