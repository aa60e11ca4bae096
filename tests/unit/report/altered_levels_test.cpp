// Levels of a run in which some blocks live otherwise, against a count of every block at every
// event.
#include "report/replay/totals/altered_levels.h"

#include <algorithm>
#include <map>
#include <random>

#include "../record/random_program.h"
#include "report_testing.h"

namespace peakline::test {
namespace {

struct Life {
    uint64_t begin = 0;
    uint64_t end = UINT64_MAX;
    uint64_t bytes = 0;
};

// A few hundred blocks of one device, and some of another one.
void write_blocks(const char* path, uint64_t seed) {
    const auto recorder = start_recording(path);
    std::mt19937_64 random(seed);
    std::vector<uint64_t> live;
    for (uint64_t i = 1; i <= 400; ++i) {
        if (live.size() < 20 || random() % 2 == 0) {
            const uint64_t bytes = (random() % 400 + 1) * 512;
            const auto device = static_cast<uint32_t>(i % 5 == 0);
            recorder->record_alloc(AllocEvent{i << 20, bytes, bytes, 0, 0, device},
                                   record::kUnknownTotal);
            live.push_back(i << 20);
            continue;
        }
        std::swap(live[random() % live.size()], live.back());
        recorder->record_free(live.back(),
                              static_cast<uint32_t>((live.back() >> 20) % 5 == 0),
                              Recorder::FreeKind::kCompleted,
                              record::kUnknownTotal);
        live.pop_back();
    }
    recorder->close_trace();
}

// When the blocks of device 0 are made and freed.
class Lives : public report::BlockFollower {
public:
    void on_alloc(const report::BlockAlloc& block) {
        if (block.shape.device == 0) {
            all[block.ordinal] = {block.at.event, UINT64_MAX, block.shape.block_bytes};
        }
    }
    void on_free(const report::BlockFree& block) {
        if (block.shape.device == 0) {
            all[block.ordinal].end = block.at.event;
        }
    }
    std::map<uint64_t, Life> all;
};

uint64_t highest_level(const std::vector<Life>& lives, uint64_t event_count) {
    uint64_t highest = 0;
    for (uint64_t event = 0; event < event_count; ++event) {
        uint64_t level = 0;
        for (const Life& life : lives) {
            level += life.begin <= event && event < life.end ? life.bytes : 0;
        }
        highest = std::max(highest, level);
    }
    return highest;
}

std::vector<Life> values_of(const std::map<uint64_t, Life>& lives) {
    std::vector<Life> values;
    for (const auto& [ordinal, life] : lives) {
        values.push_back(life);
    }
    return values;
}

void move_life(const Life& old_life, const Life& new_life, report::LevelChanges* changes) {
    const auto bytes = static_cast<int64_t>(old_life.bytes);
    for (const auto& [life, sign] : {std::pair{old_life, -1}, std::pair{new_life, 1}}) {
        if (life.begin < life.end) {
            changes->push_back({life.begin, sign * bytes});
            changes->push_back({life.end, -sign * bytes});
        }
    }
}

std::vector<report::LevelPeak> peaks_of(const report::TraceReader& reader,
                                        std::vector<report::LevelChanges> alternatives) {
    report::BlockStream stream(reader);
    report::AlteredLevels levels(format::Measure::kAllocated, 0, std::move(alternatives));
    stream.run({}, levels);
    return levels.finish(stream.end());
}

TEST_CASE("the peak with altered lives equals a count of every block", "[record]") {
    for (uint64_t seed = 1; seed <= 30; ++seed) {
        const TemporaryFile file;
        write_blocks(file.path(), seed);
        const auto reader = report::TraceReader::open_file(file.path());
        report::BlockStream stream(reader);
        Lives lives;
        stream.run({}, lives);
        const uint64_t end = stream.end().event;
        std::mt19937_64 random(seed);
        std::vector<report::LevelChanges> alternatives(4);
        std::vector<uint64_t> expected;
        for (report::LevelChanges& changes : alternatives) {
            std::vector<Life> altered = values_of(lives.all);
            for (Life& life : altered) {
                const Life old_life = life;
                switch (random() % 4) {
                    case 0:
                        life.end = life.begin;
                        break;
                    case 1:
                        life.end = life.begin + random() % 100;
                        break;
                    case 2:
                        life.begin += random() % 100;
                        break;
                    default:
                        break;
                }
                move_life(old_life, life, &changes);
            }
            expected.push_back(highest_level(altered, end));
        }
        const std::vector<report::LevelPeak> peaks = peaks_of(reader, alternatives);
        REQUIRE(peaks.size() == 5);
        CHECK(peaks[0].bytes == highest_level(values_of(lives.all), end));
        for (size_t i = 0; i < expected.size(); ++i) {
            CHECK(peaks[i + 1].bytes == expected[i]);
        }
    }
}

TEST_CASE("blocks made and freed between two events count for the peak", "[record]") {
    const TemporaryFile file;
    write_blocks(file.path(), 1);
    const auto reader = report::TraceReader::open_file(file.path());
    const uint64_t peak = peaks_of(reader, {}).front().bytes;
    const std::vector<report::LevelPeak> peaks =
        peaks_of(reader, {{{200, 0, peak}}, {{200, 0, 1}}});
    CHECK(peaks[1].bytes > peak);
    CHECK(peaks[1].event == 200);
    CHECK(peaks[2].bytes == peak);
}

}  // namespace
}  // namespace peakline::test
