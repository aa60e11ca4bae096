#include "source_json.h"

#include "printable.h"
#include "report/symbols/source_code.h"

namespace peakline::report {

void put_source(JsonWriter& json, const PathDisplay& paths, const Location& location) {
    uint32_t first = 0;
    const bool is_changed = is_changed_since(paths, location);
    const auto lines = code_at(paths, location).empty()
                           ? std::vector<std::string_view>()
                           : paths.code->lines_around(location.file, location.line, &first);
    if (lines.empty() && !is_changed) {
        json.null();
        return;
    }
    json.begin_object().field("first", first).key("lines").begin_array();
    for (const std::string_view line : lines) {
        json.value(printable(std::string(line)));
    }
    json.end_array().field("is_changed", is_changed).end_object();
}

}  // namespace peakline::report
