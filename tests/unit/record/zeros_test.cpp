// Every call of the recorder and its tables on memory that is all zero, as in the child of a fork
// without handlers. See Note [Forks that nobody hears of] in recorder.cpp.
#include <sys/mman.h>

#include "allocator/record/recorder.h"
#include "allocator/record/tables/mapped_memory.h"
#include "tests/unit/catching.h"

using namespace peakline;
using record::AllocEvent;
using record::kUnknownTotal;
using record::Recorder;
using record::StackTable;

namespace {

// Never constructed, as in the child; released without a destructor.
template <class T>
class Zeros {
public:
    Zeros() : memory_(record::map_zeroed(sizeof(T))) { REQUIRE(memory_ != nullptr); }
    ~Zeros() { munmap(memory_, sizeof(T)); }
    Zeros(const Zeros&) = delete;
    Zeros& operator=(const Zeros&) = delete;
    T& operator*() const { return *static_cast<T*>(memory_); }

private:
    void* memory_;
};

void define_everything(StackTable& table) {
    const int64_t sizes[] = {2, 3};
    CHECK(table.intern_text("name") == 0);
    CHECK(table.intern_python_frame(1, 1, 1, 1, 0) == 0);
    CHECK(table.intern_python_node(0, 1) == 0);
    CHECK(table.join_python_stacks(1, 0, 0) == 1);
    CHECK(table.intern_module({}) == 0);
    CHECK(table.intern_native_frame(1, 1) == 0);
    CHECK(table.intern_native_node(0, 1) == 0);
    CHECK(table.add_thread(1, "main", 4) == 0);
    CHECK(table.intern_stream(7) == 0);
    CHECK(table.intern_context({}) == 0);
    CHECK(table.intern_tensor({}) == 0);
    CHECK(table.intern_tensor_type("float32", sizes, 2) == 0);
    table.report_instance({});
}

}  // namespace

TEST_CASE("a table of zeros knows nothing and keeps nothing", "[zeros]") {
    const Zeros<StackTable> zeros;
    define_everything(*zeros);
    define_everything(*zeros);
}

TEST_CASE("a recorder of zeros does nothing, whatever it is told", "[zeros]") {
    const Zeros<Recorder> zeros;
    Recorder& recorder = *zeros;
    recorder.record_alloc(AllocEvent{1 << 20, 1, 1, 1, 0, 0}, 512);
    recorder.record_free(1 << 20, 0, Recorder::FreeKind::kCompleted, kUnknownTotal);
    recorder.record_free(1 << 20, 0, Recorder::FreeKind::kDeferred, 0, 1);
    recorder.record_free_completed(1 << 20);
    recorder.record_unreported_free(1 << 20);
    recorder.begin_adoption();
    const Recorder::AdoptedBlock held{1 << 20, 1, 512, 0, 0, false};
    recorder.adopt(&held, 1);
    recorder.record_segment(format::SegmentAction{}, 0, 0, 1 << 20, 1 << 21, 3);
    recorder.record_out_of_memory({}, {}, 3);
    recorder.record(format::AllocatorCall{});
    recorder.record_driver_alloc({});
    recorder.record_mark(format::MarkKind{}, 1, 1);
    recorder.record_scope(format::ScopeAction{}, 1, 1, {});
    recorder.record_scope_caller(1);
    CHECK_FALSE(recorder.is_unsaved(1 << 20));
    recorder.record_saved(1 << 20, 1);
    const Recorder::ReportedTensor told{1 << 20, 1, format::TensorKind{}, 1};
    CHECK(recorder.report_tensors(&told, 1) <= 1);
    const Recorder::MadeTensor made{1 << 20, 1};
    recorder.report_made_tensors(0, &made, 1);
    CHECK(recorder.block_count() == 0);
    record::LiveBlock blocks[1];
    CHECK(recorder.copy_live_blocks(blocks, 1) == 0);
    CHECK(recorder.record_holders({}, nullptr, 0) == 0);
    recorder.start_tracing();
    recorder.stop_tracing();
    recorder.reset_peaks();
    recorder.put_meta("key", "value", 5);
    recorder.trace_loss();
    CHECK_FALSE(recorder.has_trace());
    recorder.record_main_end();
    CHECK(recorder.may_end());
    recorder.close_trace();
    recorder.counters();
    CHECK(recorder.total_allocated_bytes() == 0);
    CHECK(recorder.peak_bytes(0, format::Measure{}) == 0);
    CHECK(recorder.level_bytes(0, format::Measure{}) == 0);
    record::MemoryTarget target;
    recorder.write_summary(&target, "");
    define_everything(recorder.table());
}
