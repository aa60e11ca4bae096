#include "sharing_processes.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "allocator/record/format/shared_names.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

namespace files = std::filesystem;
using format::kOpenedName;
using format::kOwnedName;

constexpr size_t kMostTraces = 1024;     // of a folder
constexpr int64_t kSmallestShare = 100;  // of the used bytes, for a line in another report

bool begins_with(std::string_view text, std::string_view words) {
    return text.substr(0, words.size()) == words;
}

std::string process_text(const TraceReader& reader) {
    const std::string_view rank = reader.definitions().meta_text("rank");
    return std::to_string(reader.superblock().pid) +
           (rank.empty() ? "" : " (rank " + std::string(rank) + ")");
}

void add_roles(const TraceReader& other, SharingProcesses* processes) {
    const std::string process = process_text(other);
    for (const std::string_view text : other.definitions().strings.items()) {
        if (begins_with(text, kOwnedName)) {
            processes->owners[std::string(text.substr(kOwnedName.size()))].push_back(process);
        } else if (begins_with(text, kOpenedName)) {
            processes->openers[std::string(text.substr(kOpenedName.size()))].push_back(process);
        }
    }
}

std::vector<files::path> traces_beside(const files::path& own) {
    std::vector<files::path> traces;
    std::error_code error;
    const files::path folder = own.has_parent_path() ? own.parent_path() : files::path(".");
    for (files::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
        if (at->path().extension() == ".peak" && !files::equivalent(at->path(), own, error)) {
            traces.push_back(at->path());
        }
    }
    std::sort(traces.begin(), traces.end());
    traces.resize(std::min(traces.size(), kMostTraces));
    return traces;
}

std::string name_of(const SharedPart& part, const SharingProcesses& processes) {
    const bool is_opened = part.kind == PartKind::kOpened;
    const auto& by_number = is_opened ? processes.owners : processes.openers;
    const auto found = part.number.empty() ? by_number.end() : by_number.find(part.number);
    if (found == by_number.end()) {
        return is_opened ? "opened from another process" : "exported; no trace here opened it";
    }
    std::string names;
    for (const std::string& process : found->second) {
        names += (names.empty() ? "" : ", ") + process;
    }
    const std::string noun = found->second.size() == 1 ? "process " : "processes ";
    return (is_opened ? "opened from " : "shared with ") + noun + names;
}

}  // namespace

bool shares_memory(const TraceReader& reader) {
    const auto& strings = reader.definitions().strings.items();
    return std::any_of(strings.begin(), strings.end(), [](std::string_view text) {
        return begins_with(text, kOwnedName) || begins_with(text, kOpenedName);
    });
}

SharingProcesses find_sharing_processes(const TraceReader& reader) {
    SharingProcesses processes;
    std::error_code error;
    if (!shares_memory(reader) || !files::is_regular_file(reader.name(), error)) {
        return processes;
    }
    const std::string_view host = reader.definitions().meta_text("host");
    for (const files::path& path : traces_beside(reader.name())) {
        try {
            const TraceReader other = TraceReader::open_file(path.string());
            if (other.definitions().meta_text("host") == host) {
                add_roles(other, &processes);
            }
        } catch (const TraceError&) {
            continue;
        }
    }
    return processes;
}

std::vector<LedgerPart> parts_by_process(const std::vector<SharedPart>& shared,
                                         const SharingProcesses& processes) {
    std::vector<LedgerPart> parts;
    for (const SharedPart& one : shared) {
        const std::string name = name_of(one, processes);
        auto part = std::find_if(parts.begin(), parts.end(), [&](const LedgerPart& known) {
            return known.name == name;
        });
        if (part == parts.end()) {
            part = parts.insert(parts.end(), {name, one.kind, 0, 0, {}});
        }
        part->bytes += static_cast<int64_t>(one.bytes);
        ++part->count;
        auto line = std::find_if(part->lines.begin(), part->lines.end(), [&](const auto& known) {
            return known.label.key == one.line.label.key;
        });
        if (line == part->lines.end()) {
            part->lines.push_back(one.line);
        } else {
            line->bytes += one.bytes;
            ++line->count;
        }
    }
    return parts;
}

std::vector<LedgerPart> large_shared_parts(const Ledger& ledger, const TraceReader& reader) {
    if (ledger.shared.empty()) {
        return {};
    }
    std::vector<LedgerPart> parts = parts_by_process(ledger.shared, find_sharing_processes(reader));
    std::erase_if(parts, [&](const LedgerPart& part) {
        return part.bytes * kSmallestShare < ledger.used_bytes;
    });
    return parts;
}

}  // namespace peakline::report
