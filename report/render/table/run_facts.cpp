#include "run_facts.h"

#include <charconv>
#include <cstdint>
#include <ctime>

#include "report/render/facts/value_reads.h"
#include "report/render/format/format_bytes.h"
#include "report/trace/file/trace_error.h"
#include "table_report.h"

namespace peakline::report {
namespace {

std::string uuid_text(const unsigned char (&uuid)[16]) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : uuid) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

// The trace's count of blocks made before Python stacks could be read.
struct LinesMissing {
    bool is_known = true;  // false: the program was killed before they were counted
    uint64_t blocks = 0;
    uint64_t bytes = 0;

    bool empty() const { return is_known && blocks == 0; }
};

LinesMissing lines_missing(const TraceReader& reader) {
    const std::string text(reader.definitions().meta_text(format::kLinesMissing));
    LinesMissing missing;
    missing.is_known = text != format::kLinesMissingYet;
    const char* const end = text.data() + text.size();
    const auto blocks = std::from_chars(text.data(), end, missing.blocks);
    const bool has_bytes = blocks.ec == std::errc() && blocks.ptr != end;
    if (!has_bytes || std::from_chars(blocks.ptr + 1, end, missing.bytes).ec != std::errc()) {
        missing.blocks = 0;
    }
    return missing;
}

std::string lines_missing_text(const LinesMissing& missing) {
    if (missing.empty()) {
        return {};
    }
    const bool one = missing.blocks == 1;
    const std::string what = !missing.is_known
                                 ? "The blocks were"
                                 : format_count(missing.blocks) + (one ? " block (" : " blocks (") +
                                       format_bytes(missing.bytes) + ")" + (one ? " was" : " were");
    return what +
           " allocated before Python stacks could be read, as CUDA was first used without"
           " the GIL: call torch.cuda.set_device() before init_process_group(),"
           " init_device_mesh() or pin_memory()\n";
}

}  // namespace

std::string run_head_text(const TraceReader& reader) {
    return simulated_text(reader) + lines_missing_text(lines_missing(reader));
}

std::string head_text(const TraceReader& reader) {
    const std::string too_low = too_low_sentence(zero_size_count(reader));
    return run_head_text(reader) + too_low + (too_low.empty() ? "" : "\n");
}

std::string stacks_text(const TraceReader& reader, const Selection& selection) {
    const std::string_view recorded = reader.definitions().meta_text("stacks");
    const bool needs_native = selection.frames.shows_native || makes_rows(selection, "op") ||
                              makes_rows(selection, "raw-op");
    const char* const lacks = recorded == "none"                     ? "stacks were"
                              : recorded == "native"                 ? "Python lines were"
                              : recorded == "python" && needs_native ? "native frames were"
                                                                     : nullptr;
    return lacks == nullptr ? std::string()
                            : "Recorded with --stacks " + std::string(recorded) + ": " + lacks +
                                  " not recorded; to see them, record with --stacks all\n";
}

void put_lines_missing(JsonWriter& json, const TraceReader& reader) {
    const LinesMissing missing = lines_missing(reader);
    json.key("lines_missing");
    if (missing.empty()) {
        json.null();
        return;
    }
    json.begin_object().key("blocks");
    missing.is_known ? json.value(missing.blocks) : json.null();
    json.key("bytes");
    missing.is_known ? json.value(missing.bytes) : json.null();
    json.end_object();
}

std::string start_text(const TraceReader& reader) {
    const auto seconds = static_cast<time_t>(reader.superblock().start_realtime_ns / 1'000'000'000);
    tm utc = {};
    char text[64];
    if (seconds == 0 || gmtime_r(&seconds, &utc) == nullptr ||
        std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc) == 0) {
        return {};
    }
    return text;
}

void put_simulated(JsonWriter& json, const TraceReader& reader) {
    const std::string_view device = reader.definitions().meta_text("simulated");
    json.key("simulated");
    device.empty() ? json.null() : json.value(device);
    put_too_low(json, reader);
}

void put_simulated(Document& document, const TraceReader& reader) {
    if (!document.is_for_people()) {
        put_simulated(document.fields(), reader);
    }
}

void put_run_facts(JsonWriter& json, const TraceReader& reader) {
    const format::Superblock& block = reader.superblock();
    json.field("file", reader.name()).field("file_bytes", reader.size_bytes());
    json.field("format_major", int{block.major}).field("format_minor", int{block.minor});
    json.field("file_uuid", uuid_text(block.file_uuid));
    json.field("run_uuid", uuid_text(block.run_uuid));
    json.field("pid", block.pid).field("parent_pid", block.parent_pid);
    json.field("start_realtime_ns", block.start_realtime_ns);
    json.field("start_monotonic_ns", block.start_monotonic_ns);
    json.key("meta").begin_object();
    for (const auto& [key, value] : reader.definitions().meta) {
        json.field(key, value);
    }
    json.end_object();
}

}  // namespace peakline::report
