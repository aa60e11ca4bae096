// The blocks of a page, one by one: what each is, when it was made and freed, and where. A long run
// keeps the largest ones, and of equal sizes those that lived longest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/attribute/grouping.h"
#include "report/replay/all_facts.h"
#include "report/replay/blocks/block_stream.h"
#include "report/replay/blocks/ordinal_table.h"
#include "report/views/blocks/block_texts.h"

namespace peakline::report {

struct PageTensor {
    uint64_t ordinal = 0;
    uint64_t bytes = 0;        // in the requested measure
    uint64_t made_event = 0;   // see PagePoint::peak_event
    uint64_t freed_event = 0;  // kNeverFreed: still live
    uint64_t made_tick = 0;
    uint64_t freed_tick = 0;
    uint32_t context = 0;  // of the page
    uint32_t trace_context = 0;
    uint32_t free_context = 0;   // of the trace; 0: not recorded
    uint32_t saved_context = 0;  // of the trace; 0: not saved, or not recorded
    uint64_t saved_tick = 0;
    uint32_t stream = 0;
    uint32_t device = 0;
    uint32_t name = 0;      // of PageTensors::names
    uint32_t type = 0;      // of PageTensors::types
    uint32_t saved_by = 0;  // of PageTensors::savers
    uint32_t freed_by = 0;  // of PageTensors::freed_by
};

struct PageTensors {
    std::vector<PageTensor> rows;    // in the order in which they were made
    std::vector<std::string> names;  // the first: not known
    std::vector<uint32_t> types;     // ids in Definitions; 0: unknown
    std::vector<Label> savers;       // the first: none
    std::vector<Label> freed_by;
    uint64_t left_out_count = 0;  // of all blocks that lived in the shown range
};

class TensorFollower {
public:
    // Keeps `most` blocks. Throws TraceError when the system refuses address space.
    TensorFollower(uint64_t max_alloc_count, size_t most) : live_(max_alloc_count), most_(most) {}

    // `event`: number of events that changed the level up to and with this one.
    void on_alloc(const PageTensor& made);
    void on_saved(const BlockSaved& block);
    // A block that was freed before the shown range is dropped.
    void on_free(const BlockFree& block, uint64_t event, bool is_shown);
    PageTensors finish(const Definitions& definitions, const AllFacts& facts, BlockTexts& texts);

private:
    void keep_most();

    OrdinalTable live_;  // slot of a live block, plus one
    SlotPool<PageTensor> slots_;
    size_t most_;
    uint64_t next_ordinal_ = 0;
    std::vector<PageTensor> finished_;
    uint64_t left_out_count_ = 0;
};

}  // namespace peakline::report
