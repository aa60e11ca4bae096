#include "chosen_keys.h"

#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

const Grouping* answered_key(const TraceReader& reader, const std::string& key, KeyUse use) {
    const Grouping& grouping = find_grouping(key, use);
    const bool is_summary = !reader.has_events() && !reader.summary().views.empty();
    if (grouping.needs_streams && is_summary) {
        throw TraceError(reader.name() + ": holds a summary only, which does not know " + key +
                         "s; record with events");
    }
    if (grouping.needs_tensors && reader.definitions().tensor_blocks.empty()) {
        throw TraceError(reader.name() + ": it does not say which block holds which tensor: " +
                         "record with events, and Python with torch");
    }
    if (grouping.needs_events && is_summary) {
        throw TraceError(reader.name() + ": " + option_of(use) + " " + key +
                         " follows single blocks and this trace holds a summary only; record with"
                         " events");
    }
    return &grouping;
}

// Only torch's blocks have lives and tensors; memory from the driver has only the context of its
// request.
void refuse_key_of_blocks(const Selection& selection, const std::string& key, KeyUse use) {
    const Grouping& grouping = find_grouping(key, use);
    if (grouping.facet == nullptr && !grouping.needs_tensors) {
        return;
    }
    std::string takes;
    for (const Grouping& one : groupings()) {
        if (one.facet == nullptr && !one.needs_tensors) {
            takes += (takes.empty() ? "" : ", ") + std::string(one.name);
        }
    }
    throw TraceError("--measure " + std::string(measure_name(selection)) + " does not know " +
                     option_of(use) + " " + key + ", which looks at the lives of torch's blocks; " +
                     "it knows " + takes);
}

void refuse_keys_of_blocks(const Selection& selection) {
    for (const std::string& key : selection.row_keys) {
        refuse_key_of_blocks(selection, key, KeyUse::kRows);
    }
    for (const WhereKey& where : selection.where) {
        refuse_key_of_blocks(selection, where.key, KeyUse::kWhere);
    }
}

}  // namespace

std::vector<const Grouping*> chosen_keys(const TraceReader& reader, const Selection& selection) {
    std::vector<const Grouping*> keys;
    if (selection.driver_measure) {
        refuse_keys_of_blocks(selection);
    }
    for (const std::string& key : selection.row_keys) {
        keys.push_back(answered_key(reader, key, KeyUse::kRows));
    }
    for (const WhereKey& where : selection.where) {
        keys.push_back(answered_key(reader, where.key, KeyUse::kWhere));
    }
    return keys;
}

}  // namespace peakline::report
