// The walk and its hash on frames made here, for every layout: the interpreters of most versions
// are not at hand where tests run.
#include "pyhook/frames/frame_walker.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "allocator/capture/memo/words_hash.h"
#include "one_round.h"
#include "pyhook/frames/known_frames.h"
#include "pyhook/frames/python_layout.h"
#include "pyhook/frames/walk_gate.h"
#include "pyhook/python_stack.h"
#include "tests/unit/catching.h"

using namespace peakline::pyhook;
using peakline::capture::has_aes;

namespace {

constexpr size_t kFrameBytes = 512;
constexpr size_t kKnownAtOnce = 20;
constexpr uint64_t kCodeBytes = 4096;
constexpr uint64_t kFirstCode = 0x7F0000000000;
constexpr uint64_t kFirstObject = 0x7F1000000000;
// The first two share a slot of the table of watched methods.
constexpr uint64_t kWatched[] = {kFirstCode, kFirstCode + kCodeBytes, kFirstCode + 3 * 4096 + 16};

struct FakeFrame {
    uint64_t code;
    uint64_t position;
    uint64_t object;  // its first local variable
    bool is_shim;

    auto operator<=>(const FakeFrame&) const = default;
};
using FakeStack = std::vector<FakeFrame>;  // leaf first

alignas(16) unsigned char g_thread[256];
alignas(16) unsigned char g_holder[64];

void* fake_thread() {
    return g_thread;
}

template <class T>
void put(unsigned char* object, uint16_t offset, T value) {
    std::memcpy(object + offset, &value, sizeof value);
}

// Lays the stack out as this version would.
void lay_out(const FakeStack& stack, const PythonLayout& layout, std::vector<unsigned char>& room) {
    room.assign((stack.size() + 1) * kFrameBytes, 0);
    const uint64_t tag = layout.code_mask == kTaggedPointer ? 1 : 0;
    const void* caller = nullptr;
    for (size_t i = stack.size(); i-- > 0;) {
        unsigned char* frame = room.data() + i * kFrameBytes;
        put(frame, layout.frame_code, stack[i].code | tag);
        put(frame, layout.frame_locals, stack[i].object | tag);
        put(frame, layout.frame_previous, caller);
        if (layout.position_is_index) {
            put(frame, layout.frame_position, static_cast<int32_t>(stack[i].position));
        } else {
            put(frame, layout.frame_position, stack[i].code + 256 + 2 * stack[i].position);
        }
        if (layout.frame_owner != 0) {
            put(frame, layout.frame_owner, static_cast<uint8_t>(stack[i].is_shim ? 3 : 0));
        }
        caller = frame;
    }
    put(g_holder, layout.cframe_frame, caller);
    const void* top = layout.thread_frame_is_cframe ? g_holder : caller;
    put(g_thread, layout.thread_frame, top);
}

bool is_watched_code(uint64_t code) {
    for (const uint64_t watched : kWatched) {
        if (watched == code) {
            return true;
        }
    }
    return false;
}

// The entries that a walk of at most `capacity` frames should write.
std::vector<uint64_t> expected_entries(const FakeStack& stack,
                                       const PythonLayout& layout,
                                       size_t capacity) {
    std::vector<uint64_t> entries;
    size_t count = 0;
    for (const FakeFrame& frame : stack) {
        if ((frame.is_shim && layout.frame_owner != 0) || count == capacity) {
            continue;
        }
        ++count;
        entries.push_back(frame.code);
        entries.push_back(layout.position_is_index ? frame.position
                                                   : frame.code + 256 + 2 * frame.position);
        if (is_watched_code(frame.code)) {
            entries.push_back(kInstanceMark);
            entries.push_back(frame.object);
        }
    }
    return entries;
}

FakeFrame random_frame(std::mt19937& random) {
    const uint64_t code =
        random() % 3 == 0 ? kWatched[random() % 3] : kFirstCode + (4 + random() % 9) * kCodeBytes;
    return {code, random() % 5, kFirstObject + 16 * (random() % 3), random() % 8 == 0};
}

FakeStack random_stack(std::mt19937& random, size_t max_depth) {
    FakeStack stack(random() % (max_depth + 1));
    for (FakeFrame& frame : stack) {
        frame = random_frame(random);
    }
    return stack;
}

// Every stack ever seen has one hash, and no two have the same; it is known again, and none of the
// stacks before it is taken for it.
class Seen {
public:
    explicit Seen(const PythonLayout& layout)
        : layout_(layout), walkers_(walkers_for(layout)), is_stack_(comparer_for(layout)) {}

    void check(const FakeStack& stack) {
        lay_out(stack, layout_, room_);
        std::vector<RawFrame> out(kEntriesPerFrame * kMaxFrames);
        bool truncated = false;
        const size_t count = walkers_.frames(fake_thread(), out.data(), kMaxFrames, &truncated);
        std::vector<uint64_t> entries;
        for (size_t i = 0; i < count; ++i) {
            entries.insert(entries.end(), {out[i].code, out[i].position});
        }
        REQUIRE(entries == expected_entries(stack, layout_, kMaxFrames));
        const HashedWalk hash = walkers_.hash(fake_thread());
        REQUIRE(hash.truncated == truncated);
        const auto key = std::make_tuple(hash.low, hash.high, hash.frame_count);
        const auto [place, is_new] = hashes_.emplace(entries, key);
        REQUIRE(place->second == key);
        REQUIRE(all_.insert(key).second == is_new);
        out.resize(count);
        check_known(out, entries, hash.frame_count);
    }
    size_t count() const { return hashes_.size(); }

private:
    using Key = std::tuple<uint64_t, uint64_t, uint32_t>;

    void check_known(const std::vector<RawFrame>& frames,
                     const std::vector<uint64_t>& entries,
                     size_t frame_count) {
        KnownFrames known;
        const bool is_known = know_frames(frames.data(), frames.size(), &known);
        REQUIRE(is_known == (has_aes() && frame_count <= KnownFrames::kMostFrames));
        if (is_known) {
            known_before_.emplace_back(entries, known);
        }
        for (auto& [other, known_before] : known_before_) {
            const bool is_other = other != entries || layout_.position_is_index;
            REQUIRE(is_stack_(fake_thread(), known_before) != is_other);
        }
        if (known_before_.size() > kKnownAtOnce) {
            known_before_.pop_front();
        }
    }

    const PythonLayout& layout_;
    Walkers walkers_;
    Comparer is_stack_;
    std::vector<unsigned char> room_;
    std::map<std::vector<uint64_t>, Key> hashes_;
    std::set<Key> all_;
    std::deque<std::pair<std::vector<uint64_t>, KnownFrames>> known_before_;
};

template <class Check>
void check_each_layout(Check check) {
    watch_methods(kWatched, 3);
    const auto check_row = [&check]<const PythonLayout & kRow>() {
        INFO("3." << kRow.minor);
        std::mt19937 random(kRow.minor);
        check(kRow, random);
    };
    for_each_layout(check_row, KnownLayouts());
    watch_methods(nullptr, 0);
}

// As in words_hash_test: one round makes the lowest byte of a position four bytes of the next one
// of its chain, or of the other chain where they are joined. `start`: the hash before.
[[PEAKLINE_USES_AES]] void check_made_to_collide(__m128i start, size_t next) {
    for (uint64_t low = 2; low < 256; low += 2) {
        RawFrame frames[] = {{0, 0x7F0000010000},
                             {0, 0x7F0000123456},
                             {0, 0x7F0000654321},
                             {0, 0x7F0000234561},
                             {0, 0x7F0000765432}};
        KnownFrames known;
        REQUIRE(know_frames(frames, next + 1, &known));
        const __m128i first = _mm_xor_si128(start, _mm_cvtsi64_si128(0x7F0000010000));
        const __m128i changed = _mm_cvtsi64_si128(static_cast<long long>(low));
        frames[0].position ^= low;
        frames[next].position ^=
            static_cast<uint64_t>(_mm_cvtsi128_si64(after_one_round(first, changed)));
        KnownFrames other;
        REQUIRE(know_frames(frames, next + 1, &other));
        REQUIRE((known.low != other.low || known.high != other.high));
    }
}

}  // namespace

TEST_CASE("a stack has one hash, and another stack another, in every layout", "[pyhook]") {
    check_each_layout([](const PythonLayout& layout, std::mt19937& random) {
        Seen seen(layout);
        for (int i = 0; i < 4000; ++i) {
            FakeStack stack = random_stack(random, i % 40 == 0 ? 60 : 6);
            seen.check(stack);
            seen.check(stack);
            // Its neighbours: one frame another, one more, one less, two the other way round.
            if (!stack.empty()) {
                FakeStack other = stack;
                other[random() % other.size()] = random_frame(random);
                seen.check(other);
                std::swap(stack[random() % stack.size()], stack[random() % stack.size()]);
                seen.check(stack);
                stack.pop_back();
                seen.check(stack);
            }
            stack.push_back(random_frame(random));
            seen.check(stack);
        }
        REQUIRE(seen.count() > 5000);
    });
}

TEST_CASE("two lines of a function and their callers do not make up for each other", "[pyhook]") {
    if (!has_aes()) {
        WARN(kNoAes);
        return;
    }
    const __m128i start = one_round(_mm_setzero_si128());
    check_made_to_collide(start, 1);
    check_made_to_collide(start, 4);
}

TEST_CASE("a stack that ends earlier or later is another", "[pyhook]") {
    if (!has_aes()) {
        WARN(kNoAes);
        return;
    }
    check_each_layout([](const PythonLayout& layout, std::mt19937& random) {
        const Comparer is_stack = comparer_for(layout);
        if (layout.position_is_index) {
            return;  // never known
        }
        FakeStack stack(12);
        for (FakeFrame& frame : stack) {
            frame = random_frame(random);
            frame.is_shim = false;
        }
        std::vector<unsigned char> room;
        std::vector<RawFrame> frames(2 * stack.size());
        std::vector<KnownFrames> known(stack.size());
        bool truncated = false;
        for (size_t depth = 1; depth <= stack.size(); ++depth) {
            lay_out(
                FakeStack(stack.begin(), stack.begin() + static_cast<long>(depth)), layout, room);
            const size_t count =
                walkers_for(layout).frames(fake_thread(), frames.data(), depth, &truncated);
            REQUIRE(know_frames(frames.data(), count, &known[depth - 1]));
        }
        for (size_t depth = 0; depth <= stack.size(); ++depth) {
            lay_out(
                FakeStack(stack.begin(), stack.begin() + static_cast<long>(depth)), layout, room);
            for (size_t other = 1; other <= stack.size(); ++other) {
                REQUIRE(is_stack(fake_thread(), known[other - 1]) == (other == depth));
            }
        }
    });
}

TEST_CASE("stacks of more frames than can be known are told by their hash", "[pyhook]") {
    check_each_layout([](const PythonLayout& layout, std::mt19937& random) {
        Seen seen(layout);
        FakeStack stack;
        while (stack.size() < KnownFrames::kMostFrames + 4) {
            stack.push_back(random_frame(random));
            stack.back().is_shim = false;
            seen.check(stack);
        }
    });
}

TEST_CASE("deep stacks are cut at the same frame by the walk and its hash", "[pyhook]") {
    check_each_layout([](const PythonLayout& layout, std::mt19937& random) {
        Seen seen(layout);
        for (const size_t depth : {kMaxFrames - 1, kMaxFrames, kMaxFrames + 1, 2 * kMaxFrames}) {
            FakeStack stack(depth);
            for (FakeFrame& frame : stack) {
                frame = random_frame(random);
                frame.is_shim = false;
            }
            seen.check(stack);
            const HashedWalk hash = walkers_for(layout).hash(fake_thread());
            REQUIRE(hash.frame_count == std::min(depth, kMaxFrames));
            REQUIRE(hash.truncated == (depth > kMaxFrames));
        }
    });
}

// As for a thread that was stopped between its first look at the gate and its mark, while the
// interpreter ended: see Note [End of the interpreter].
TEST_CASE("behind a closed gate no frame is read", "[pyhook]") {
    REQUIRE(g_walk_gate.state.load() == GateState::kClosed);
    KnownFrames known{};
    REQUIRE_FALSE(frames_are(known));
    REQUIRE(hash_frames().frame_count == 0);
    RawFrame frame{};
    bool truncated = true;
    REQUIRE(walk_frames(&frame, 1, &truncated) == 0);
}
