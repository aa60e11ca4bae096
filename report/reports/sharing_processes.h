// The other processes of shared memory (CUDA IPC), from their traces in the same folder. Events are
// not read: the numbers of shared memory are among the strings of a trace.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/trace/reader.h"
#include "report/views/ledger/ledger.h"

namespace peakline::report {

struct SharingProcesses {
    // By number of the memory: the processes with the other role, such as "26519 (rank 1)".
    std::map<std::string, std::vector<std::string>> openers;
    std::map<std::string, std::vector<std::string>> owners;
};

// Whether the trace names such memory.
bool shares_memory(const TraceReader& reader);

// Empty when the trace shares no memory. Files that are no traces are passed over.
SharingProcesses find_sharing_processes(const TraceReader& reader);

// The parts by their processes, with the lines of each: "opened from process 26519".
std::vector<LedgerPart> parts_by_process(const std::vector<SharedPart>& shared,
                                         const SharingProcesses& processes);

// The parts at this moment, if they are a hundredth of the device's used bytes or more.
std::vector<LedgerPart> large_shared_parts(const Ledger& ledger, const TraceReader& reader);

}  // namespace peakline::report
