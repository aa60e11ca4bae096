#include "search.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include "allocator/record/format/trace_format.h"
#include "cycles.h"
#include "frame_layout.h"
#include "heap_graph.h"
#include "object_facts.h"
#include "object_layout.h"
#include "paths.h"
#include "roots.h"

namespace peakline::pyhook {
namespace {

constexpr size_t kMostPaths = 4;  // written per block
constexpr uint64_t kNsPerSecond = 1'000'000'000;

using Blocks = std::vector<PeaklineLiveBlock>;

uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

// Switches the collector off, and on again at the end if it was on.
class CollectorOff {
public:
    CollectorOff() : was_on_(PyGC_Disable() != 0) {}
    ~CollectorOff() {
        if (was_on_) {
            PyGC_Enable();
        }
    }
    CollectorOff(const CollectorOff&) = delete;
    CollectorOff& operator=(const CollectorOff&) = delete;

private:
    bool was_on_;
};

class ExceptionAside {
public:
    ExceptionAside() { PyErr_Fetch(&type_, &value_, &traceback_); }
    ~ExceptionAside() { PyErr_Restore(type_, value_, traceback_); }
    ExceptionAside(const ExceptionAside&) = delete;
    ExceptionAside& operator=(const ExceptionAside&) = delete;

private:
    PyObject* type_ = nullptr;
    PyObject* value_ = nullptr;
    PyObject* traceback_ = nullptr;
};

Blocks live_blocks() {
    Blocks blocks(peakline_live_blocks(nullptr, 0) + 1024);  // others may allocate meanwhile
    blocks.resize(std::min(peakline_live_blocks(blocks.data(), blocks.size()), blocks.size()));
    std::sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) {
        return a.block_bytes != b.block_bytes ? a.block_bytes > b.block_bytes
                                              : a.ordinal < b.ordinal;
    });
    return blocks;
}

// Bytes held by a line (a context), without parameters and their kin.
struct Line {
    uint64_t bytes = 0;
    const PeaklineLiveBlock* oldest = nullptr;
};
using Lines = std::map<uint32_t, Line>;

Lines lines_of(const Blocks& live) {
    Lines lines;
    for (const PeaklineLiveBlock& block : live) {
        if (block.tensor_kind != 0) {
            continue;
        }
        Line& line = lines[block.context];
        line.bytes += block.block_bytes;
        if (line.oldest == nullptr || block.ordinal < line.oldest->ordinal) {
            line.oldest = &block;
        }
    }
    return lines;
}

// Bytes by context at the last remember_lines(). Guarded by the GIL.
std::map<uint32_t, uint64_t> g_remembered;

// The oldest block of each line that holds most or has grown most: where memory grows, it was there
// first.
Blocks oldest_of_lines(const Blocks& live, size_t count) {
    const Lines lines = lines_of(live);
    std::vector<std::pair<uint64_t, const PeaklineLiveBlock*>> ranked;
    for (const auto& [context, line] : lines) {
        const auto before = g_remembered.find(context);
        const uint64_t known = before == g_remembered.end() ? 0 : before->second;
        ranked.emplace_back(line.bytes - std::min(known, line.bytes), line.oldest);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
        return a.first > b.first;
    });
    Blocks chosen;
    for (size_t i = 0; i < ranked.size() && i < count; ++i) {
        chosen.push_back(*ranked[i].second);
    }
    g_remembered.clear();
    return chosen;
}

// Sorted by address. Holders of parameters and their kin are known, so these come last.
Blocks choose_blocks(size_t count) {
    const Blocks live = live_blocks();
    Blocks chosen;
    std::set<uint64_t> known;
    for (const bool has_name : {false, true}) {
        for (const PeaklineLiveBlock& block : live) {
            if ((block.tensor_kind != 0) == has_name && chosen.size() < count) {
                chosen.push_back(block);
                known.insert(block.ordinal);
            }
        }
    }
    for (const PeaklineLiveBlock& block : oldest_of_lines(live, count)) {
        if (known.insert(block.ordinal).second) {
            chosen.push_back(block);
        }
    }
    std::sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) {
        return a.address < b.address;
    });
    return chosen;
}

std::vector<PyObject*> unreached_of(const HeapGraph& graph, PyObject* list) {
    std::vector<PyObject*> unreached;
    const Py_ssize_t count = list == nullptr ? 0 : PyList_Size(list);
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (PyObject* const object = PyList_GetItem(list, i); !graph.is_reached(object)) {
            unreached.push_back(object);
        }
    }
    return unreached;
}

// Only for cycles that hold a block: there may be very many cycles.
void describe_cycles(const Cycles& cycles, HeapGraph* graph) {
    for (const HeldBy& found : graph->found()) {
        Root& root = graph->root(graph->vertex(root_of(*graph, found.vertex)));
        if (root.kind == static_cast<uint32_t>(format::HolderKind::kCycle) && root.detail.empty()) {
            root.detail = cycles.detail_of(root);
        }
    }
}

bool walk_objects(HeapGraph* graph, std::vector<PyObject*> unreached) {
    Cycles cycles(*graph, std::move(unreached));
    if (!cycles.find()) {
        return false;
    }
    const bool has_time = graph->walk(cycles.outside_roots()) &&
                          graph->walk(cycles.cycle_roots(*graph)) &&
                          graph->walk(cycles.other_roots(*graph));
    describe_cycles(cycles, graph);
    return has_time;
}

// Second round: walks objects unreachable from variables and modules, if an unexplained block is
// among them.
bool walk_unreached(HeapGraph* graph, const Blocks& blocks) {
    std::vector<bool> is_found(blocks.size());
    for (const HeldBy& found : graph->found()) {
        is_found[found.block] = true;
    }
    if (std::find(is_found.begin(), is_found.end(), false) == is_found.end()) {
        return true;
    }
    PyObject* const list = all_objects();
    std::vector<PyObject*> unreached = unreached_of(*graph, list);
    const bool may_lead_to_blocks =
        std::any_of(unreached.begin(), unreached.end(), [&](PyObject* object) {
            return graph->is_tensor(object);
        });
    const bool has_time = !may_lead_to_blocks || walk_objects(graph, std::move(unreached));
    Py_XDECREF(list);
    return has_time;
}

uint64_t known_object_count() {
    PyObject* const list = all_objects();
    const Py_ssize_t count = list == nullptr ? 0 : PyList_Size(list);
    Py_XDECREF(list);
    return static_cast<uint64_t>(count);
}

void add_path(BlockHolders* holders, PathText path) {
    // For a tensor that C++ keeps, and that a graph or a variable holds as well.
    const bool says_less = path.kind == static_cast<uint32_t>(format::HolderKind::kOther);
    for (const FoundPath& known : holders->paths) {
        if (says_less || known.text == path.text) {
            return;
        }
    }
    if (holders->paths.size() < kMostPaths) {
        holders->paths.push_back({path.kind, std::move(path.text)});
    } else {
        ++holders->more_count;
    }
}

std::vector<BlockHolders> holders_of(const HeapGraph& graph, const Blocks& blocks) {
    std::vector<BlockHolders> holders;
    for (const PeaklineLiveBlock& block : blocks) {
        const auto number = static_cast<uint32_t>(holders.size());
        holders.push_back({block, {}, graph.unlisted_count(number)});
    }
    // A path through a variable tells more than one through a graph, and both tell more than a
    // holder in C++.
    std::vector<std::pair<uint32_t, PathText>> from_outside;
    const auto add_those = [&](bool are_tensors) {
        for (const HeldBy& found : graph.found()) {
            if (graph.vertex(found.vertex).is_target != are_tensors) {
                continue;
            }
            PathText path = write_path(graph, found.vertex);
            if (path.kind == static_cast<uint32_t>(format::HolderKind::kOther)) {
                from_outside.emplace_back(found.block, std::move(path));
            } else {
                add_path(&holders[found.block], std::move(path));
            }
        }
    };
    add_those(true);
    for (const HeldBy& found : graph.found()) {
        for (const uint32_t other : graph.more_holders(found.vertex)) {
            add_path(&holders[found.block], write_path_through(graph, other, found.vertex));
        }
    }
    add_those(false);
    for (auto& [block, path] : from_outside) {
        add_path(&holders[block], std::move(path));
    }
    std::stable_sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) {
        return a.block.block_bytes > b.block.block_bytes;
    });
    return holders;
}

uint32_t record(const SearchResult& result) {
    std::vector<PeaklineHolder> written;
    for (const BlockHolders& block : result.blocks) {
        uint32_t more_count = block.more_count;
        for (const FoundPath& path : block.paths) {
            written.push_back({block.block.address,
                               block.block.ordinal,
                               path.kind,
                               more_count,
                               path.text.c_str()});
            more_count = 0;
        }
        if (block.paths.empty()) {
            written.push_back({block.block.address,
                               block.block.ordinal,
                               static_cast<uint32_t>(format::HolderKind::kNone),
                               0,
                               ""});
        }
    }
    return peakline_record_holders(&result.search, written.data(), written.size());
}

PyObject* as_python(const SearchResult& result) {
    PyObject* const rows = PyList_New(0);
    for (const BlockHolders& block : result.blocks) {
        PyObject* const paths = PyList_New(0);
        for (const FoundPath& path : block.paths) {
            PyObject* const pair = Py_BuildValue("(Is)", path.kind, path.text.c_str());
            PyList_Append(paths, pair);
            Py_XDECREF(pair);
        }
        PyObject* const row =
            Py_BuildValue("(KKKINI)",
                          static_cast<unsigned long long>(block.block.address),
                          static_cast<unsigned long long>(block.block.block_bytes),
                          static_cast<unsigned long long>(block.block.requested_bytes),
                          block.block.device,
                          paths,
                          block.more_count);
        PyList_Append(rows, row);
        Py_XDECREF(row);
    }
    const PeaklineHolderSearch& search = result.search;
    return Py_BuildValue("(NIKKKI)",
                         rows,
                         result.number,
                         static_cast<unsigned long long>(search.object_count),
                         static_cast<unsigned long long>(search.known_object_count),
                         static_cast<unsigned long long>(search.duration_us),
                         search.flags);
}

}  // namespace

SearchResult search_holders(const SearchRequest& request) {
    const uint64_t begin = now_ns();
    SearchResult result;
    {
        const ExceptionAside aside;
        const Blocks blocks = choose_blocks(request.block_count);
        HeapGraph graph(blocks, begin + request.time_ns);
        const bool has_time = graph.walk(program_roots()) && walk_unreached(&graph, blocks);
        result.blocks = holders_of(graph, blocks);
        result.search.object_count = graph.object_count();
        if (!has_time) {
            result.search.known_object_count =
                std::max(known_object_count(), result.search.object_count);
        }
        result.search.flags = (has_time ? 0 : uint32_t{format::kTimeIsUp}) |
                              (graph.knows_tensors() ? 0 : uint32_t{format::kTensorsUnknown}) |
                              (knows_frames() ? 0 : uint32_t{format::kFramesUnknown});
    }
    result.search.reason = request.reason;
    result.search.step = request.step;
    result.search.block_count = static_cast<uint32_t>(result.blocks.size());
    result.search.duration_us = (now_ns() - begin) / 1000;
    result.number = record(result);
    return result;
}

PyObject* remember_lines(PyObject*, PyObject*) {
    const Blocks live = live_blocks();
    g_remembered.clear();
    for (const auto& [context, line] : lines_of(live)) {
        g_remembered[context] = line.bytes;
    }
    Py_RETURN_NONE;
}

PyObject* await_frame(PyObject*, PyObject* frame) {
    if (is_type(frame, "PyFrame_Type")) {
        await_return(frame);
    }
    Py_RETURN_NONE;
}

PyObject* is_frame_returning(PyObject*, PyObject*) {
    return PyBool_FromLong(is_returning() ? 1 : 0);
}

PyObject* hold(PyObject*, PyObject* arguments) {
    double seconds = 0;
    unsigned block_count = 0;
    unsigned reason = 0;
    unsigned step = 0;
    if (!PyArg_ParseTuple(arguments, "dIII", &seconds, &block_count, &reason, &step)) {
        return nullptr;
    }
    const CollectorOff off;  // also while the result is built
    SearchRequest request;
    request.time_ns = static_cast<uint64_t>(seconds * static_cast<double>(kNsPerSecond));
    request.block_count = block_count;
    request.reason = reason;
    request.step = step;
    return as_python(search_holders(request));
}

}  // namespace peakline::pyhook
