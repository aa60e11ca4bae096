#include "stored_outline.h"

#include "added_record.h"

namespace peakline::report {
namespace {

constexpr uint64_t kOutlineVersion = 1;

}  // namespace

bool store_outline(const std::string& path, const std::string& json) {
    const TraceReader reader = TraceReader::open_file(path);
    return reader.has_events() && reader.summary().outline.empty() &&
           add_record(reader, path, format::SummaryType::kOutline, kOutlineVersion, json);
}

std::optional<std::string> stored_outline(const TraceReader& reader) {
    return content_of_record(reader.summary().outline, kOutlineVersion);
}

}  // namespace peakline::report
