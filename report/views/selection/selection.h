// The options of a report as people write them, and their meaning. The same words on the command
// line, in Python and in tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/attribute/names/option_word.h"
#include "report/attribute/stacks/frame_policy.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"

namespace peakline::report {

// The options as written; each field is an option of the same name.
struct SelectionText {
    std::string by = "line";         // one key, or two with a comma between them
    std::vector<std::string> where;  // KEY=VALUE
    std::string frame = "caller";
    std::string at = "peak";
    std::string during;  // a part of the run, see find_ranges(); empty: the whole run
    std::string device;  // empty: the GPU with the highest peak
    std::string measure = "allocated";
    std::vector<std::string> hide;
    std::vector<std::string> symbols;  // folders
    uint64_t depth = 0;                // length of module paths; 0: the whole path
    bool fold = false;                 // repeated layers are one
    bool native = false;               // stacks begin with their native frames
};

// Levels that the driver counts, instead of the blocks that torch counts.
enum class DriverMeasure : uint8_t {
    kReserved,  // torch's segments
    kDevice,    // all memory requested from the driver: torch's segments and other requests
};

// A block is shown when its row of this key matches one of the values: the text of a row, or a
// glob.
struct WhereKey {
    std::string key;
    std::vector<std::string> values;
};

struct Selection {
    std::string by;
    std::vector<std::string> row_keys;  // the keys in `by`
    std::vector<WhereKey> where;        // all of them must match
    FramePolicy frames;
    ReplayRequest request;
    // The part of the run to report; for reports about a moment, the peak within it. See
    // find_ranges(); empty: the whole run.
    std::string during;
    std::optional<DriverMeasure> driver_measure;  // if set, request.measure has no meaning
};

enum class KnownMeasures : uint8_t { kOfBlocks, kAll };

// Throws TraceError that names the option and its values.
Selection parse_selection(const SelectionText& text,
                          KnownMeasures measures = KnownMeasures::kOfBlocks);

// The same for a report of this trace. Without GPU memory, "all" means the same as the empty
// device: host memory has no sum.
Selection parse_selection(const SelectionText& text,
                          const TraceReader& reader,
                          KnownMeasures measures = KnownMeasures::kOfBlocks);

// Whether the rows use this key, alone or in a pair.
bool makes_rows(const Selection& selection, std::string_view key);

// The values of an option, the default first: "by", "frame", "at", "measure", or "every-measure"
// with those of the driver. For "at" these are the moments without a number or a name.
std::vector<OptionWord> words_of_option(std::string_view option);

const char* measure_name(format::Measure measure);
const char* measure_name(const Selection& selection);

// Seconds from "12.5" or "12.5s"; false when `text` is not a time.
bool parse_seconds(const std::string& text, double* seconds);

}  // namespace peakline::report
