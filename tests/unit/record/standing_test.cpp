// The state of torch's segments and of the driver at the first event of a bounded trace: equal to
// that in a trace of every event, and to a model by brute force.
#include <set>

#include "random_program.h"
#include "report/trace/file/trace_error.h"
#include "report/views/ledger/ledger_moment.h"
#include "report/views/segments/allocator_state.h"

namespace peakline::test {
namespace {

using format::DriverKind;
using record::Keep;

constexpr uint64_t kMebibyte = uint64_t{1} << 20;
constexpr uint64_t kUnit = 2 * kMebibyte;
constexpr uint32_t kGpus = 2;

// Draws rare records, and blocks between them, and gives each to every recorder.
class DeviceProgram {
public:
    explicit DeviceProgram(uint32_t seed) : random_(seed) {}

    struct Page {
        uint64_t stream;
        uint64_t pool;
        bool is_expandable;
        bool operator==(const Page&) const = default;
    };
    // By brute force: every two megabytes of torch's segments, every live request.
    std::map<uint64_t, Page> pages[kGpus];
    std::map<std::pair<DriverKind, uint64_t>, format::DriverAlloc> requests;
    std::map<uint64_t, uint64_t> pools[kGpus];
    std::map<uint64_t, uint64_t> owners[kGpus];

    void add(Recorder& recorder) { recorders_.push_back(&recorder); }

    void run(int event_count) {
        for (int i = 0; i < event_count; ++i) {
            add_event();
        }
    }

private:
    uint64_t pick(uint64_t bound) { return random_() % bound; }
    template <class Call>
    void tell(Call call) {
        for (Recorder* const recorder : recorders_) {
            call(*recorder);
        }
    }
    template <class Record>
    void tell_driver(const Record& record) {
        tell([&](Recorder& recorder) { recorder.record(record); });
    }

    void add_event() {
        switch (pick(12)) {
            case 0:
            case 1:
                return add_segment();
            case 2:
                return take_segment();
            case 3:
            case 4:
                return add_request();
            case 5:
            case 6:
                return end_request();
            case 7:
                return sample();
            case 8:
                return sample_pool();
            case 9:
                return call_allocator();
            default:
                return add_blocks();
        }
    }

    struct Range {
        uint64_t address;
        uint64_t units;
    };
    // A range of an expandable segment: one unit, of small blocks or of large ones.
    Range mapped_range(uint64_t gpu) {
        const uint64_t base = (gpu + 1) << 40 | uint64_t{1} << 38;
        return pick(2) == 0 ? Range{base + pick(60) * kUnit, 1}
                            : Range{base + (10 + pick(12)) * 10 * kUnit, 10};
    }
    uint64_t address_of(uint64_t gpu) { return (gpu + 1) << 40 | pick(300) * kUnit; }

    void add_segment() {
        const uint64_t gpu = pick(kGpus);
        const bool is_map = pick(2) == 0;
        const Range range = is_map ? mapped_range(gpu) : Range{address_of(gpu), 1 + pick(12)};
        const auto [address, units] = range;
        const uint64_t pool = pick(3) == 0 ? 1 + pick(6) : 0;
        const Page page = {pick(3), pool, is_map};
        if (pick(3) != 0) {  // else memory that nobody saw the driver give
            request({is_map ? DriverKind::kMapping : DriverKind::kDevice,
                     0,
                     0,
                     gpu,
                     page.stream,
                     address,
                     units * kUnit,
                     0});
        }
        segment(is_map ? format::SegmentAction::kMap : format::SegmentAction::kAlloc,
                gpu,
                address,
                units,
                page);
        for (uint64_t i = 0; i < units; ++i) {
            pages[gpu][address + i * kUnit] = page;
        }
    }

    void segment(format::SegmentAction action,
                 uint64_t gpu,
                 uint64_t address,
                 uint64_t units,
                 const Page& page) {
        tell([&](Recorder& recorder) {
            recorder.record_segment(action,
                                    static_cast<uint32_t>(gpu),
                                    static_cast<uint32_t>(page.stream),
                                    address,
                                    units * kUnit,
                                    page.pool);
        });
    }

    void take_segment() {
        const uint64_t gpu = pick(kGpus);
        const bool is_unmap = pick(2) == 0;
        const auto [address, units] =
            is_unmap ? mapped_range(gpu) : Range{address_of(gpu), 1 + pick(8)};
        segment(is_unmap ? format::SegmentAction::kUnmap : format::SegmentAction::kFree,
                gpu,
                address,
                units,
                {});
        for (uint64_t i = 0; i < units; ++i) {
            pages[gpu].erase(address + i * kUnit);
        }
    }

    void request(const format::DriverAlloc& record) {
        requests[{record.kind, record.key}] = record;
        tell([&](Recorder& recorder) { recorder.record_driver_alloc(record); });
        if (pick(4) == 0) {
            tell_driver(format::MadeFor{1 + pick(3)});
        }
        if (pick(4) == 0) {
            tell_driver(format::SharedMemory{record.kind, record.key, pick(3)});
        }
    }

    // The keys of a device are its own.
    void add_request() {
        const uint64_t gpu = pick(kGpus);
        const auto kind =
            static_cast<DriverKind>(1 + pick(static_cast<uint64_t>(DriverKind::kMulticast)));
        const uint64_t key = (gpu + 1) << 44 | pick(400) * 512;
        request({kind, 0, 0, gpu, pick(3), key, (1 + pick(9)) * 100'000, 1 + pick(3)});
    }

    void end_request() {
        if (requests.empty()) {
            return;
        }
        auto one = requests.begin();
        std::advance(one, static_cast<std::ptrdiff_t>(pick(std::min<size_t>(requests.size(), 60))));
        const format::DriverFree end = {one->first.first, one->first.second};
        requests.erase(one);
        tell_driver(end);
    }

    void sample() {
        const uint64_t gpu = pick(kGpus);
        if (pick(5) == 0) {
            tell_driver(format::DeviceProcesses{gpu, pick(3) * kUnit, pick(50) * kUnit, 1});
        }
        const auto reason = static_cast<format::SampleReason>(
            1 + pick(static_cast<uint64_t>(format::SampleReason::kPhase)));
        tell_driver(format::DriverSample{
            reason, gpu, 1000 * kMebibyte + pick(1000) * 4096, uint64_t{1} << 33});
    }

    void sample_pool() {
        const uint64_t gpu = pick(kGpus);
        const uint64_t pool = pick(4);
        const uint64_t bytes = pick(4) * kUnit;
        pools[gpu][pool] = bytes;
        tell_driver(format::PoolSample{gpu, pool, bytes, bytes / 2});
    }

    void call_allocator() {
        using Action = format::AllocatorAction;
        const uint64_t gpu = pick(kGpus);
        const uint64_t pool = 1 + pick(6);
        uint64_t& count = owners[gpu][pool];
        const bool ends = count != 0 && pick(2) == 0;
        count += ends ? -uint64_t{1} : 1;
        const Action begins = pick(2) == 0 ? Action::kPoolCreated : Action::kRoutingBegun;
        tell([&](Recorder& recorder) {
            recorder.record(
                format::AllocatorCall{ends ? Action::kPoolReleased : begins, gpu, pool, 0});
        });
        if (pick(20) == 0) {
            const std::string text = "large_segment_size_mb:" + std::to_string(20 + pick(3) * 10);
            tell([&](Recorder& recorder) {
                recorder.record(format::AllocatorSettings{
                    recorder.table().intern_string(text.data(), text.size())});
            });
        }
    }

    void add_blocks() {
        const auto gpu = static_cast<uint32_t>(pick(kGpus));
        for (uint64_t i = pick(5); i > 0; --i) {
            const uint64_t address = address_of(gpu) + pick(100) * 512;
            const bool is_live = blocks_.erase(address) != 0;
            if (!is_live) {
                blocks_.insert(address);
            }
            tell([&](Recorder& recorder) {
                if (is_live) {
                    recorder.record_free(
                        address, gpu, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
                } else {
                    recorder.record_alloc({address, 512, 512, 0, 0, gpu}, record::kUnknownTotal);
                }
            });
        }
    }

    std::mt19937 random_;
    std::vector<Recorder*> recorders_;
    std::set<uint64_t> blocks_;
};

std::map<uint64_t, DeviceProgram::Page> pages_of(const report::AllocatorState& state) {
    std::map<uint64_t, DeviceProgram::Page> pages;
    for (const report::StateSegment& segment : state.segments) {
        for (uint64_t at = segment.address; at < segment.end(); at += kUnit) {
            pages[at] = {segment.stream, segment.pool, segment.is_expandable};
        }
    }
    return pages;
}

void check_model(const report::TraceReader& reader, const DeviceProgram& program) {
    for (uint32_t gpu = 0; gpu < kGpus; ++gpu) {
        const auto state = report::find_allocator_state(reader, gpu, UINT64_MAX, {});
        CHECK((pages_of(state) == program.pages[gpu]));
        std::set<uint64_t> owned;
        for (const auto& [pool, count] : program.owners[gpu]) {
            if (count != 0) {
                owned.insert(pool);
            }
        }
        CHECK(state.used_pools == owned);
        report::MomentEvent moment;
        moment.device = gpu;
        const report::DriverMemory memory = report::find_ledger_moment(reader, moment, {}).memory;
        uint64_t pool_bytes = 0;
        for (const auto& [pool, bytes] : program.pools[gpu]) {
            pool_bytes += bytes;
        }
        uint64_t device_bytes = 0;
        size_t count = 0;
        for (const auto& [key, request] : program.requests) {
            if (request.device == gpu) {
                ++count;
                device_bytes += format::is_on_device(request.kind) ? request.bytes : 0;
                const auto found = memory.requests().find(key);
                REQUIRE(found != memory.requests().end());
                CHECK(format::fields_of<format::DriverAlloc>(found->second) ==
                      format::fields_of(request));
            }
        }
        CHECK(memory.requests().size() == count);
        CHECK(memory.held_bytes() - memory.unseen_segment_bytes() == pool_bytes + device_bytes);
    }
}

using SegmentFacts = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, uint32_t, bool, size_t>;

std::vector<SegmentFacts> facts_of(const report::AllocatorState& state) {
    std::vector<SegmentFacts> facts;
    for (const report::StateSegment& one : state.segments) {
        facts.emplace_back(one.address,
                           one.bytes,
                           one.unit_bytes,
                           one.pool,
                           one.stream,
                           one.is_expandable,
                           one.blocks.size());
    }
    return facts;
}

void check_equal(const report::LedgerMoment& one, const report::LedgerMoment& two) {
    CHECK(one.memory.used_bytes() == two.memory.used_bytes());
    CHECK(one.memory.held_bytes() == two.memory.held_bytes());
    CHECK(one.memory.unseen_segment_bytes() == two.memory.unseen_segment_bytes());
    CHECK(one.memory.other_bytes() == two.memory.other_bytes());
    CHECK(one.memory.total_bytes() == two.memory.total_bytes());
    CHECK(one.next_growth_bytes == two.next_growth_bytes);
    CHECK(one.next_other_bytes == two.next_other_bytes);
    CHECK(one.blocks.size() == two.blocks.size());
    for (size_t step = 0; step < record::kStepCount; ++step) {
        CHECK(one.memory.step_bytes(static_cast<report::Step>(step)) ==
              two.memory.step_bytes(static_cast<report::Step>(step)));
    }
    for (const auto& [key, request] : two.memory.requests()) {
        CHECK(one.memory.requests().at(key).made_for == request.made_for);
        CHECK(one.memory.requests().at(key).is_shared == request.is_shared);
        CHECK(one.memory.requests().at(key).shared_name == request.shared_name);
    }
}

// Events of the bounded trace count from the first that it keeps.
void check_window(const report::TraceReader& whole,
                  const report::TraceReader& bounded,
                  std::mt19937& random) {
    REQUIRE(bounded.checkpoint() != nullptr);
    const uint64_t first = bounded.checkpoint()->first_event;
    const uint64_t kept = report::replay(bounded, {}).health.event_count;
    REQUIRE(first + kept == report::replay(whole, {}).health.event_count);
    for (int i = 0; i < 6; ++i) {
        const auto gpu = static_cast<uint32_t>(random() % kGpus);
        const uint64_t event = i == 0 ? 0 : random() % kept;
        INFO("event " << event << " of " << kept << " after " << first);
        report::MomentEvent of_bounded;
        of_bounded.event = event;
        of_bounded.device = gpu;
        report::MomentEvent of_whole = of_bounded;
        of_whole.event += first;
        check_equal(report::find_ledger_moment(bounded, of_bounded, {}),
                    report::find_ledger_moment(whole, of_whole, {}));
        CHECK(facts_of(report::find_allocator_state(bounded, gpu, event, {})) ==
              facts_of(report::find_allocator_state(whole, gpu, of_whole.event, {})));
    }
}

}  // namespace

TEST_CASE("a bounded trace knows segments and requests like a trace of every event",
          "[record][keep][standing]") {
    for (uint32_t seed = 1; seed <= 2; ++seed) {
        INFO("seed " << seed);
        const TemporaryFile everything;
        const TemporaryFile last;
        const TemporaryFile peak;
        const auto whole = start_recording(everything.path());
        const auto bounded = start_recording(last.path(), {Keep::Kind::kLast, kMebibyte / 2});
        const auto peak_only = start_recording(peak.path(), {Keep::Kind::kPeak, 0});
        DeviceProgram program(seed);
        for (Recorder* const recorder : {whole.get(), bounded.get(), peak_only.get()}) {
            program.add(*recorder);
        }
        std::mt19937 random(seed);
        for (const int event_count : {200, 60'000, 360'000}) {
            program.run(event_count);
            // The recorders still have the files open: these are the bytes a killed process leaves.
            const auto all = report::TraceReader::open_file(everything.path());
            for (const char* const path : {last.path(), peak.path()}) {
                const auto reader = report::TraceReader::open_file(path);
                REQUIRE(reader.knows_standing());
                check_model(reader, program);
                check_window(all, reader, random);
            }
        }
        CHECK(report::TraceReader::open_file(last.path()).checkpoint()->first_event > 50'000);
        CHECK(report::TraceReader::open_file(peak.path()).checkpoint()->first_event > 50'000);
    }
}

TEST_CASE("a checkpoint with a standing record missing says nothing of what stands",
          "[record][keep][standing]") {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path(), {Keep::Kind::kPeak, 0});
    recorder->record_segment(format::SegmentAction::kAlloc, 0, 0, kUnit, kUnit);
    // Nothing but this makes the file grow.
    while (report::TraceReader::open_file(file.path()).checkpoint()->first_event == 0) {
        for (int i = 0; i < 20'000; ++i) {
            recorder->record_mark(MarkKind::kStep, 0, 0);
        }
    }
    Bytes bytes = file.bytes();
    CHECK(report::TraceReader::from_memory("whole", bytes).knows_standing());
    for (size_t n = 0; TraceBuilder::chunk_offset(n) < bytes.size(); ++n) {
        unsigned char* const chunk = &bytes[TraceBuilder::chunk_offset(n)];
        auto* header = reinterpret_cast<format::ChunkHeader*>(chunk);
        if (header->type != static_cast<uint16_t>(format::ChunkType::kSummary)) {
            continue;
        }
        header->flags = 0;  // the checksum does not count
        const unsigned char segment[] = {static_cast<unsigned char>(format::SummaryType::kStanding),
                                         0};
        unsigned char* const begin = chunk + sizeof *header;
        unsigned char* const end = begin + header->committed;
        for (unsigned char* at = begin; at < end; at += 2 + at[1]) {
            at[0] = at[0] == segment[0] ? 0x7F : at[0];  // of a newer minor version
        }
    }
    const auto reader = report::TraceReader::from_memory("cut", bytes);
    REQUIRE(reader.checkpoint() != nullptr);
    CHECK_FALSE(reader.knows_standing());
}

}  // namespace peakline::test
