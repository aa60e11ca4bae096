// How many bytes of the file an event takes: at most 8 in a training loop, 12 in random churn;
// packed at most 4 in a training loop.
#include <cstdint>
#include <random>
#include <vector>

#include "random_program.h"
#include "report/trace/pack.h"

namespace peakline::test {
namespace {

constexpr uint64_t kEvents = 400'000;

struct EventBytes {
    double file;
    double packed;
};

struct Recording {
    TemporaryFile file;
    std::unique_ptr<Recorder> recorder = start_recording(file.path());

    uint32_t context(uint32_t number) {
        const std::string name = "operator" + std::to_string(number);
        record::StackTable& table = recorder->table();
        return table.intern_context(
            record::Context{0, 0, 0, 0, table.intern_string(name.data(), name.size()), 0});
    }

    // Everything in the file counts: headers, definitions, space not used at the end.
    EventBytes bytes_per_event() {
        const auto events = static_cast<double>(recorder->counters().trace_events);
        recorder->close_trace();
        const TemporaryFile packed;
        unlink(packed.path());
        report::pack_trace(file.path(), packed.path(), 9, {});
        return {static_cast<double>(file.bytes().size()) / events,
                static_cast<double>(packed.bytes().size()) / events};
    }
};

// Every step requests the same sizes at the same lines; torch returns other addresses.
EventBytes training_loop(uint32_t shapes) {
    Recording recording;
    std::mt19937_64 random(1);
    std::vector<uint32_t> contexts;
    for (uint32_t i = 0; i < 300; ++i) {
        contexts.push_back(recording.context(i));
    }
    std::vector<uint64_t> live(shapes);
    for (uint64_t done = 0; done < kEvents; done += 2) {
        const auto shape = static_cast<uint32_t>(done / 2 % shapes);
        if (live[shape] != 0) {
            recording.recorder->record_free(
                live[shape], 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
        }
        live[shape] = (uint64_t{0x7f00'0000'0000}) + (shape * 8 + random() % 8) * 2'097'152;
        const uint64_t bytes = (shape % 64 + 1) * 3000;
        recording.recorder->record_alloc(
            AllocEvent{live[shape], bytes, (bytes + 511) / 512 * 512, contexts[shape % 300], 0, 0},
            record::kUnknownTotal);
    }
    return recording.bytes_per_event();
}

// Sizes never seen before, at places all over, 100,000 of them live.
EventBytes random_churn() {
    Recording recording;
    std::mt19937_64 random(2);
    const uint32_t context = recording.context(1);
    std::vector<bool> live(200'000);
    for (uint64_t i = 0; i < kEvents; ++i) {
        const uint64_t slot = random() % live.size();
        const uint64_t address = (slot + 1) * 65536;
        if (live[slot]) {
            recording.recorder->record_free(
                address, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
        } else {
            const uint64_t bytes = random() % 100'000 + 1;
            recording.recorder->record_alloc(
                AllocEvent{address, bytes, (bytes + 511) / 512 * 512, context, 0, 0},
                record::kUnknownTotal);
        }
        live[slot] = !live[slot];
    }
    return recording.bytes_per_event();
}

TEST_CASE("an event of a training loop takes at most eight bytes of the file", "[record]") {
    for (const uint32_t shapes : {3000U, 400U}) {
        const EventBytes bytes = training_loop(shapes);
        CHECK(bytes.file <= 8);
        CHECK(bytes.packed <= 4);
    }
}

TEST_CASE("an event of random churn takes at most twelve bytes of the file", "[record]") {
    const EventBytes bytes = random_churn();
    CHECK(bytes.file <= 12);
    // 3.5 of them are random: the size, the address, and the choice of the freed block.
    CHECK(bytes.packed <= 8);
}

}  // namespace
}  // namespace peakline::test
