// Which blocks the next events are about. In a training loop the caching allocator gives out the
// same addresses in every round: what was told one round ago is told again. Only for fetching
// ahead, so nothing is checked. Used by the recorder under its lock. Lives in memory that is zero.
#pragma once

#include <cstdint>

namespace peakline::record {

class AddressRounds {
public:
    // `rounds`: how many the loop has made. What a round is, others know.
    void follow_rounds(uint32_t rounds) {
        if (__builtin_expect(rounds != rounds_, 0)) {
            rounds_ = rounds;
            round_ = count_ - begin_ >= kShortest ? count_ - begin_ : 0;
            begin_ = count_;
        }
    }
    // An allocation or free of an address with this hash.
    void note(uint32_t hash) { hashes_[at(count_++)] = hash; }

    // Whether the events come in rounds, and of so many blocks that they leave the caches.
    bool repeat() const { return round_ != 0; }
    // The hash that should be noted after `ahead` others; any other in a loop of more than kLength
    // events.
    uint32_t expected(uint32_t ahead) const { return hashes_[at(count_ - round_ + ahead)]; }

private:
    static constexpr uint32_t kLength = 1U << 14;
    static constexpr uint32_t kShortest = 64;
    static uint32_t at(uint32_t event) { return event & (kLength - 1); }

    uint32_t count_ = 0;
    uint32_t begin_ = 0;  // of this round
    uint32_t round_ = 0;  // events of the last one; 0: not known, or few
    uint32_t rounds_ = 0;
    uint32_t hashes_[kLength] = {};
};

}  // namespace peakline::record
