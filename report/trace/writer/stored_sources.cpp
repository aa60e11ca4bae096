#include "stored_sources.h"

#include <string_view>
#include <utility>

#include "added_record.h"
#include "report/trace/file/field_cursor.h"

namespace peakline::report {
namespace {

constexpr uint64_t kSourcesVersion = 1;

void put_number(std::string& out, uint64_t number) {
    unsigned char bytes[format::kMaxVarintBytes];
    const unsigned char* const end = format::put_uv(bytes, number);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(end - bytes));
}

void put_text(std::string& out, std::string_view text) {
    put_number(out, text.size());
    out.append(text);
}

std::string encoded(const StoredFiles& files) {
    std::string out;
    for (const auto& [path, file] : files) {
        put_text(out, path);
        put_number(out, file.is_changed ? 1 : 0);
        put_number(out, file.lines.size());
        uint32_t before = 0;
        for (const auto& [number, text] : file.lines) {
            put_number(out, number - before);
            put_text(out, text);
            before = number;
        }
    }
    return out;
}

std::string_view take_text(FieldCursor& cursor) {
    return cursor.bytes(cursor.uv());
}

StoredFiles decoded(const std::string& content) {
    FieldCursor cursor({reinterpret_cast<const unsigned char*>(content.data()), content.size()});
    StoredFiles files;
    while (cursor.good && cursor.at != cursor.end) {
        StoredFile& file = files[std::string(take_text(cursor))];
        file.is_changed = cursor.uv() != 0;
        uint32_t number = 0;
        for (uint64_t left = cursor.uv(); left > 0 && cursor.good; --left) {
            number += cursor.uv32();
            file.lines[number] = take_text(cursor);
        }
    }
    return cursor.good ? std::move(files) : StoredFiles();
}

}  // namespace

bool add_sources(const TraceReader& reader, const std::string& path, const StoredFiles& files) {
    return add_record(reader, path, format::SummaryType::kSources, kSourcesVersion, encoded(files));
}

StoredFiles stored_sources(const TraceReader& reader) {
    const auto content = content_of_record(reader.summary().sources, kSourcesVersion);
    return content ? decoded(*content) : StoredFiles();
}

}  // namespace peakline::report
