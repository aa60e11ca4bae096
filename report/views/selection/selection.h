// What a report is asked for, as people write it, and its meaning. The same words everywhere: on
// the command line, in Python and in tests.
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

// As written; each field is an option of the same name.
struct SelectionText {
    std::string by = "line";         // one key, or two with a comma between them
    std::vector<std::string> where;  // KEY=VALUE
    std::string frame = "caller";
    std::string at = "peak";
    std::string during;  // a part of the run, see find_ranges(); empty: all of it
    std::string device;  // empty: the GPU with the highest peak
    std::string measure = "allocated";
    std::vector<std::string> hide;
    std::vector<std::string> symbols;  // folders
    uint64_t depth = 0;                // of module paths; 0: whole
    bool fold = false;                 // repeated layers are one
    bool native = false;               // stacks begin with their native frames
};

// Levels that the driver counts, in place of the blocks that torch counts.
enum class DriverMeasure : uint8_t {
    kReserved,  // torch's segments
    kDevice,    // all that was asked of the driver: torch's segments and what others asked for
};

// A block is shown when its row of this key is one of the values: the text of a row, or a glob.
struct WhereKey {
    std::string key;
    std::vector<std::string> values;
};

struct Selection {
    std::string by;
    std::vector<std::string> row_keys;  // those of `by`
    std::vector<WhereKey> where;        // all of them must hold
    FramePolicy frames;
    ReplayRequest request;
    // What happens is asked for in this part of the run; of reports about a moment, the peak within
    // it. See find_ranges(); empty: all of it.
    std::string during;
    std::optional<DriverMeasure> driver_measure;  // then request.measure means nothing
};

enum class KnownMeasures : uint8_t { kOfBlocks, kAll };

// Throws TraceError that names the option and what it takes.
Selection parse_selection(const SelectionText& text,
                          KnownMeasures measures = KnownMeasures::kOfBlocks);

// The same for a report of this trace. Without memory of a GPU "all" is what the empty device is:
// memory of the host has no sum.
Selection parse_selection(const SelectionText& text,
                          const TraceReader& reader,
                          KnownMeasures measures = KnownMeasures::kOfBlocks);

// Whether the rows are of this key, or of a pair with it.
bool makes_rows(const Selection& selection, std::string_view key);

// What an option takes, the default first: "by", "frame", "at", "measure", or "every-measure" with
// those of the driver. Of "at" these are the moments without a number or a name.
std::vector<OptionWord> words_of_option(std::string_view option);

const char* measure_name(format::Measure measure);
const char* measure_name(const Selection& selection);

// Seconds from "12.5" or "12.5s"; false when `text` is not a time.
bool parse_seconds(const std::string& text, double* seconds);

}  // namespace peakline::report
