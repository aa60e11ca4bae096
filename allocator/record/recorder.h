// The recorder: one ordered stream of allocations and frees, the live set and the exact peaks of
// every device, and the trace file. Hooks and the delegating allocator call it from any thread.
// One leaf lock orders everything; under it we call nobody, and memory is mapped, never malloc'ed.
// Knows neither torch nor Python. On trouble it counts, calls the trouble handler once, and
// continues without the file: levels and peaks stay exact. Never destroyed: late frees still come.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/record/files/file_target.h"
#include "allocator/record/files/memory_target.h"
#include "allocator/record/tables/leaf_lock.h"
#include "allocator/record/tables/prefetch.h"
#include "allocator/record/tables/stack_table.h"
#include "event_predictor.h"
#include "summary_writer.h"
#include "tick_clock.h"

namespace peakline::record {

inline constexpr uint32_t kMaxDevices = format::kMaxGpus;  // of CUDA
inline constexpr uint64_t kUnknownTotal = ~uint64_t{0};

struct RecorderCounters {
    uint64_t allocs;
    uint64_t frees;
    uint64_t unknown_frees;    // of blocks made before recording began
    uint64_t records_dropped;  // not in the trace file
    uint64_t bytes_dropped;
    uint64_t baseline_corrections;  // number of times that torch's own total differed from ours
    uint64_t stack_table_full;
    uint64_t trace_bytes;
    uint64_t trace_events;
};

// Lives in static storage, which starts as zeros. The most used members come first, even if that
// costs padding.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding, cppcoreguidelines-pro-type-member-init)
class Recorder {
public:
    using TroubleHandler = void (*)(const char* what, int error);

    // The one global. Constructed when the library is loaded, never destroyed.
    static Recorder& instance();

    // Maps the tables and calibrates the clock. False: recording is impossible here.
    bool init(TroubleHandler on_trouble);

    StackTable& table() { return table_; }
    // The context of blocks allocated while tracing is off. relaxed: a hook that reads an old value
    // records one block as traced or untraced; the mark in the stream, made under the lock, decides
    // for levels and peaks.
    uint32_t untraced_context() const { return untraced_context_; }
    bool is_tracing() const { return tracing_.load(std::memory_order_relaxed); }
    bool uses_several_gpus() const { return used_gpus_.load(std::memory_order_relaxed) > 1; }

    // ---- blocks: recorder_events.cpp ----

    // `torch_total_bytes`: torch's own count of allocated bytes on the device with this block, read
    // under its lock, or kUnknownTotal. A difference is recorded as an untraced baseline block.
    void record_alloc(const AllocEvent& event, uint64_t torch_total_bytes);

    enum class FreeKind { kCompleted, kDeferred };
    // kDeferred: freed, but in use on another stream until record_free_completed(address).
    // `context`: of the free, 0 if the recording has no contexts of frees.
    void record_free(uint64_t address,
                     uint32_t device,
                     FreeKind kind,
                     uint64_t torch_total_bytes,
                     uint32_t context = 0);
    void record_free_completed(uint64_t address);
    // A free reported at the call, before it happens. It counts only for a block recorded without
    // the allocator's report; for any other block the later report counts.
    void record_unreported_free(uint64_t address, uint32_t context = 0);

    // ---- blocks from before the hooks: recorder_adoption.cpp ----

    // For an allocator that is already in use: begin, install the hooks, query it for its blocks,
    // adopt. See Note [Blocks from before] in recorder_adoption.cpp.
    struct AdoptedBlock {
        uint64_t address;  // 0: represents all blocks of its device
        uint64_t requested_bytes;
        uint64_t block_bytes;
        uint32_t stream;
        uint32_t device;
        bool is_deferred;  // freed, but in use on another stream
    };
    void begin_adoption();
    // Adds them as untraced blocks. Returns the bytes of those that were not known.
    uint64_t adopt(const AdoptedBlock* blocks, size_t count);

    // ---- rare records: recorder_records.cpp ----

    void record_segment(format::SegmentAction action,
                        uint32_t device,
                        uint32_t stream,
                        uint64_t address,
                        uint64_t bytes,
                        uint64_t pool = 0);
    // Writes all its records next to each other.
    void record_out_of_memory(const format::OutOfMemory& request,
                              const format::Refusal& refusal,
                              uint64_t pool = 0);
    // See Note [Driver records] in format/events.h. Levels and peaks do not include them. A trace
    // that waits for its first record is opened only by memory of a device and by page-locked
    // memory of the host.
    void record_driver_alloc(const format::DriverAlloc& request);
    // Writes any other rare record if a trace is open. It opens none: the code that opens one
    // repeats the records that are still valid.
    template <class Record>
    void record(const Record& record) {
        const LockGuard guard(lock_);
        if (usable_) {
            put(record);
        }
    }
    // A phase's peak is known from its marks on, so they are recorded once: after opening a trace
    // record() repeats those that are still valid.
    void record_mark(format::MarkKind kind, uint32_t thread, uint32_t string);
    // `step`: the scope is a method of an optimizer, or a run of the autograd engine.
    void record_scope(format::ScopeAction action,
                      uint32_t thread,
                      uint32_t string,
                      StepAction step = StepAction::kNone);
    // The call site of the scope that began last on this thread. `context`: id of StackTable.
    void record_scope_caller(uint32_t context);

    // ---- facts about blocks from objects: recorder_objects.cpp ----

    // Storages of tensors: live blocks at these addresses, each reported once for its kind. Returns
    // the number of addresses without a block.
    struct ReportedTensor {
        uint64_t address = 0;
        uint32_t tensor = 0;  // id of StackTable::intern_tensor
        format::TensorKind kind = {};
        uint32_t type = 0;  // id of StackTable::intern_tensor_type; 0: not known
    };
    size_t report_tensors(const ReportedTensor* tensors, size_t count);
    // Results of an operator: live blocks at these addresses. `first_ordinal` is block_count() at
    // its begin; older blocks are left out.
    struct MadeTensor {
        uint64_t address;
        uint32_t type;  // id of StackTable::intern_tensor_type
    };
    void report_made_tensors(uint64_t first_ordinal, const MadeTensor* tensors, size_t count);
    uint64_t block_count();  // so far

    // Storages of the arguments of a module. See Note [Inputs of modules] in format/definitions.h.
    // Autograd saves the storage at this address for a backward pass. The first time counts for its
    // block: is_unsaved() says whether the context is wanted. `context`: of the operator.
    bool is_unsaved(uint64_t address);
    void record_saved(uint64_t address, uint32_t context);
    void report_inputs(uint32_t instance, const uint64_t* addresses, size_t count);

    // Copies up to `room` of the live blocks; returns the number of all live blocks.
    size_t copy_live_blocks(LiveBlock* out, size_t room);
    // A result of our search; see Note [Holders] in format/definitions.h.
    struct FoundHolder {
        uint64_t address;  // of a block that was live when the search began
        uint64_t ordinal;  // from copy_live_blocks()
        format::HolderKind kind;
        uint32_t more_count;
        const char* text;
        size_t length;
    };
    // Fills in number and time of the search. Returns the number; 0: nothing was written, because
    // there is no trace or it already has many searches. Leaves out holders of blocks that were
    // freed.
    uint32_t record_holders(format::HolderSearch search, const FoundHolder* holders, size_t count);

    // ---- tracing, levels, counters: recorder.cpp ----

    void start_tracing();
    void stop_tracing();
    // Forgets peaks and totals; levels stay. A file that keeps peaks instead of events forgets them
    // too.
    void reset_peaks();

    RecorderCounters counters();
    // On all GPUs, while tracing, since the last reset of the peaks.
    uint64_t total_allocated_bytes();
    // Levels now and peak of one device, or 0 for an unknown device.
    uint64_t peak_bytes(uint32_t device, format::Measure measure);
    uint64_t level_bytes(uint32_t device, format::Measure measure);
    // The highest level of all GPUs together since the same reader's last call, or since the trace
    // was opened. 0 without an open trace. Changes no peak.
    enum class PeakReader : uint8_t { kStepHistory, kProgram };
    uint64_t take_peak_bytes(PeakReader reader);

    // ---- the trace: recorder_trace.cpp ----

    struct TraceOptions {
        const char* path = nullptr;
        FileTarget::Exists exists{};
        mode_t mode = FileTarget::kPrivate;
        unsigned char run_uuid[16] = {};
        Keep keep;
    };
    // Only processes that record something get a file: `opener` is called once, before the first
    // block or mark, and opens the trace. It may be slow and must not record.
    using Opener = void (*)();
    void open_at_first_record(Opener opener) {
        // release: the setup of the opener is visible before it.
        opener_.store(opener, std::memory_order_release);
    }

    // Opens a trace file: it begins with definitions of everything known and with the current live
    // set as untraced blocks, and peaks start anew. Returns 0 or an errno.
    int open_trace(const TraceOptions& options);
    void put_meta(const char* key, const char* value, size_t value_length);
    // Changes to the open file by other processes.
    FileTarget::Loss trace_loss();
    // The whole path of the last file that was opened, or failed to open.
    const char* trace_path() const { return file_.path(); }
    // Marks a clean end, seals, and closes. Later frees and allocations are only counted: those of
    // an ending process are not part of the run.
    void close_trace();
    // Marks the end of the program's main in a trace that is open.
    void record_main_end();
    // Whether this thread may call the recorder once more before the process ends. A signal handler
    // that exits may have interrupted a call of this thread: then the trace stays readable but
    // without an end.
    bool may_end();
    bool has_trace() const { return writer_.is_open(); }

    // A trace without events: definitions and the live sets at peak and now. For reports that
    // need no file. `simulated`: the name of the simulated device, or "".
    bool write_summary(MemoryTarget* target, const char* simulated);

    // ---- fork: recorder.cpp ----

    // The parent continues; the child must not write into its parent's file.
    void prepare_fork();
    void parent_after_fork();
    void child_after_fork();

private:
    // Call all of these with lock_ held.
    DeviceLevels* device_levels(uint32_t device) {
        return device < format::kDeviceCount && devices_[device].used ? &devices_[device]
                                                                      : device_levels_slow(device);
    }
    [[gnu::noinline, gnu::cold]] DeviceLevels* device_levels_slow(uint32_t device);
    // Prepares the next event. Call it after everything that moves blocks.
    void fetch_ahead() {
        predictor_.prefetch();
        next_block_ = live_set_.at(predictor_.predicted_slot());
        // It may span two cache lines.
        __builtin_prefetch(next_block_);
        __builtin_prefetch(reinterpret_cast<const char*>(next_block_ + 1) - 1);
    }
    // The fast path for the predicted event, which needs only counting and copying. False, with
    // nothing done: another event came, or this one needs more work.
    bool record_predicted_alloc(const AllocEvent& event, uint64_t torch_total_bytes);
    bool record_predicted_free(uint64_t address, uint64_t torch_total_bytes);
    // By value: taking its address would force callers to spill it, on the fast path too.
    [[gnu::noinline]] void record_unpredicted_alloc(AllocEvent event, uint64_t torch_total_bytes);
    [[gnu::noinline]] void record_unpredicted_free(uint64_t address,
                                                   uint32_t device,
                                                   FreeKind kind,
                                                   uint64_t torch_total_bytes,
                                                   uint32_t context);
    // False when the block was dropped.
    bool put_alloc(const AllocEvent& event, uint8_t flags);
    // Returns the block, nullptr when it was dropped.
    LiveBlock* add_block(const AllocEvent& event, LiveBlock* erased, uint8_t flags);
    static uint64_t gpu_bytes_of(const LiveBlock& block) {
        return format::is_of_host(block.device) ? 0 : block.block_bytes;
    }
    // Counts a block that is in the live set, but in no view yet. Returns the time of the event.
    uint64_t count_new(DeviceLevels& levels, LiveBlock& block);
    // The same, and counts it in all views.
    uint64_t count_alloc(DeviceLevels& levels, LiveBlock& block, bool is_traced);
    // The live block at this address, mostly without a lookup in the index; nullptr: none.
    LiveBlock* find_block(uint64_t address) {
        return next_block_->address == address && LiveSet::is_live(*next_block_)
                   ? next_block_
                   : live_set_.find(address);
    }
    void remove_block(LiveBlock* block, uint64_t tick, uint32_t context = 0);
    // For a block that torch no longer counts; phases still count it.
    void count_freed(DeviceLevels& levels, const LiveBlock& block);
    void drop_from_allocated(LiveBlock* block);
    size_t report_some_tensors(const ReportedTensor* tensors, size_t count);
    [[gnu::noinline, gnu::cold]] void free_of_unknown_slow(uint64_t address,
                                                           uint32_t device,
                                                           uint64_t torch_total_bytes);
    void remember_freed(uint64_t address);
    // The baseline block of a device: below every real address.
    static uint64_t baseline_address(uint32_t device) { return uint64_t{device} + 1; }
    // After an event of a known device: checks that torch's count equals ours.
    void check_total(uint32_t device, uint64_t torch_total_bytes) {
        if (devices_[device].allocated.level_bytes() != torch_total_bytes &&
            torch_total_bytes != kUnknownTotal) {
            correct_baseline_slow(device, torch_total_bytes);
        }
    }
    [[gnu::noinline, gnu::cold]] void correct_baseline_slow(uint32_t device,
                                                            uint64_t torch_total_bytes);
    void write_live_set_slow();
    // Writes the pool of the previous record.
    void put_pool(uint64_t pool, uint64_t tick) {
        if (pool != 0) {
            writer_.put(format::InPool{pool}, tick);
        }
    }
    template <class Record>
    void put(const Record& record) {
        writer_.put(record, clock_.now_tick());
        check_writer();
    }
    // Every view counts from this moment: its level is the first candidate for its peak.
    // `tick`: of the mark for it in the trace.
    void start_views(uint64_t tick);
    uint64_t take_peak_bytes_locked(PeakReader reader);
    void put_tracing_started(uint64_t tick);
    void reset_views();
    void check_writer() {
        if (had_trace_ != writer_.is_open() || writer_.checkpoint_is_due()) {
            check_writer_slow();
        }
    }
    [[gnu::noinline, gnu::cold]] void check_writer_slow();
    // See Note [Views at the end] in trace_format.h.
    void begin_end_views();
    void write_checkpoint_slow();
    Counted counted();
    void end_step();
    // Call it after a phase mark, a device's first block, and a switch of tracing.
    void update_phases();
    // Costs one load if the trace is open or none is wanted.
    void open_if_waiting() {
        if (opener_.load(std::memory_order_acquire) != nullptr) {
            open_waiting_slow();
        }
    }
    [[gnu::noinline, gnu::cold]] void open_waiting_slow();
    // Costs one relaxed load if there is no trouble.
    void report_trouble_unlocked() {
        if (has_trouble_.load(std::memory_order_relaxed)) {
            report_trouble_slow();
        }
    }
    [[gnu::noinline, gnu::cold]] void report_trouble_slow();

    LeafLock lock_;
    // Held while the trace is opened: other threads record after it, not before. Taken before
    // lock_.
    LeafLock opener_lock_;
    std::atomic<Opener> opener_{nullptr};
    std::atomic<bool> tracing_{false};
    // relaxed: a hint; the trouble itself is read under the lock.
    std::atomic<bool> has_trouble_{false};
    std::atomic<uint32_t> used_gpus_{0};  // relaxed, too
    // lock_ guards everything below except table_. Every event uses the first ones.
    bool usable_ = false;
    bool had_trace_ = false;
    uint32_t untraced_context_ = 0;
    uint64_t next_ordinal_ = 0;
    uint64_t live_bytes_ = 0;  // of all GPUs
    // The block in the predicted slot. Kept, since finding it takes four dependent loads under the
    // lock.
    LiveBlock* next_block_ = nullptr;
    TickClock clock_;
    LiveSet live_set_;
    TraceWriter writer_;
    EventPredictor predictor_;
    DeviceLevels devices_[format::kDeviceCount];
    PhasePeaks phases_;
    // For a bounded trace.
    StepHistory steps_;
    RefusalHistory refusals_;
    uint64_t untaken_peaks_[2] = {};  // by PeakReader: the part that another reader took first
    StackTable table_;
    FileTarget file_;
    RecorderCounters counters_{};
    TroubleHandler on_trouble_ = nullptr;
    bool is_adopting_ = false;
    uint32_t holder_searches_ = 0;  // in the open trace
    uint32_t holder_count_ = 0;
    bool peaks_are_of_trace_ = false;  // peaks cover the open trace from its first event on
    const char* pending_trouble_ = nullptr;
    int pending_error_ = 0;
};

// Storage without a destructor, in separate pages: Note [Forks that nobody hears of].
inline constexpr size_t kStoragePage = 4096;
inline constexpr size_t kStorageBytes =
    (sizeof(Recorder) + kStoragePage - 1) / kStoragePage * kStoragePage;
alignas(kStoragePage) extern unsigned char g_recorder_storage[kStorageBytes];

inline Recorder& Recorder::instance() {
    return *reinterpret_cast<Recorder*>(g_recorder_storage);
}

}  // namespace peakline::record
