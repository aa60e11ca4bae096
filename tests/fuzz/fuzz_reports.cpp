// Every report of whatever these bytes are: only TraceError may come out, in bounded time and
// memory. Built twice: with libFuzzer (`make fuzz`), and with replay_corpus.cpp into a plain
// program that `make test` runs over the kept corpus.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "report/render/page/page_report.h"
#include "report/reports/report.h"
#include "report/trace/file/trace_error.h"
#include "tests/fuzz/packed_trace.h"

using namespace peakline;

namespace {

// A fuzzer cannot guess checksums: superblock and sealed chunks get right ones, unless the first
// byte of the file asks otherwise.
std::vector<unsigned char> with_checksums(const uint8_t* data, size_t size) {
    std::vector<unsigned char> file(data, data + size);
    if (size < format::kSuperblockBytes || data[0] != format::kMagic[0]) {
        return file;
    }
    format::Superblock block;
    std::memcpy(&block, file.data(), sizeof block);
    block.header_xxh3 = XXH3_64bits(&block, offsetof(format::Superblock, header_xxh3));
    std::memcpy(file.data(), &block, sizeof block);
    for (size_t at = format::kSuperblockBytes; at + sizeof(format::ChunkHeader) <= size;
         at += format::kChunkBytes) {
        format::ChunkHeader header;
        std::memcpy(&header, &file[at], sizeof header);
        if ((header.flags & format::kChunkSealed) == 0 ||
            header.committed > size - at - sizeof header) {
            continue;
        }
        const bool defines = header.type == static_cast<uint16_t>(format::ChunkType::kDefs);
        const uint64_t seed = defines ? XXH3_64bits(header.first_ids, sizeof header.first_ids) : 0;
        header.payload_xxh3 =
            XXH3_64bits_withSeed(&file[at] + sizeof header, header.committed, seed);
        std::memcpy(&file[at], &header, sizeof header);
    }
    return file;
}

void read_everything(const std::vector<unsigned char>& file) {
    const auto reader = report::TraceReader::from_memory("fuzz", {file.data(), file.size()});
    report::make_info(reader);
    for (const char* at : {"peak", "end", "0.5", "phase"}) {
        for (const char* by : {"line", "stack", "op", "category,freed-by"}) {
            report::ReportOptions options;
            options.selection.at = at;
            options.selection.by = by;
            options.selection.device = at[0] == 'e' ? "all" : "";
            try {
                report::make_table(reader, options, {});
            } catch (const report::TraceError&) {
            }
        }
    }
    report::ReportOptions json;
    json.form = report::OutputForm::kJson;
    json.selection.measure = "requested";
    report::make_summary(reader, json, {});
    json.form = report::OutputForm::kDocument;
    json.selection.by = "stack";
    report::make_table(reader, json, {});
    json.selection.by = "line";
    report::make_summary(reader, json, {});
    json.form = report::OutputForm::kJson;
    report::make_stats(reader, json, {});
    for (const char* name :
         {"phases", "layers", "ops", "stages", "tensors", "leaks", "oom", "advise"}) {
        for (const auto form : {report::OutputForm::kDocument, report::OutputForm::kJson}) {
            report::ReportOptions options;
            options.form = form;
            try {
                report::find_report(name)(reader, options, {});
            } catch (const report::TraceError&) {
            }
        }
    }
    for (const char* name : {"table", "tensors", "timeline", "stats"}) {
        report::ReportOptions options;
        options.selection.where = {"phase=*", "thread=un*"};
        if (name[0] == 't') {
            options.selection.where.emplace_back("freed-by=*");
        }
        try {
            report::find_report(name)(reader, options, {});
        } catch (const report::TraceError&) {
        }
    }
    for (report::MakeReport* const unprinted : {report::make_outline, report::make_step_levels}) {
        try {
            unprinted(reader, {}, {});
        } catch (const report::TraceError&) {
        }
    }
    for (const char* device : {"", "all"}) {
        report::ReportOptions options;
        options.selection.device = device;
        try {
            report::make_page(reader, options, {}, 10'000);
        } catch (const report::TraceError&) {
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    try {
        const std::vector<unsigned char> file = test::unpack({data, size});
        read_everything(with_checksums(file.data(), file.size()));
    } catch (const report::TraceError&) {
    }
    return 0;
}
