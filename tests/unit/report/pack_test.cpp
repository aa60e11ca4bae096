// Packed traces: the same reports, and whatever is damaged is told.
#include "report/trace/pack.h"

#include <algorithm>
#include <cstdio>

#include <unistd.h>
#include <zstd.h>

#include "report/trace/file/packed_file.h"
#include "report/trace/file/trace_error.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

constexpr const char* kTrace = R"(
    start
    alloc a 0x1000 100 stack=f.py:1:f class
    alloc b 0x2000 200 stack=f.py:2:f class
    chunk
    alloc d 0x4000 400 stack=f.py:4:f
    free a
    chunk
    alloc e 0x5000 50 stack=f.py:5:f
    free b stack=g.py:9:g thread=1
    stop
    end
)";

class Folder {
public:
    Folder() { REQUIRE(mkdtemp(path_) != nullptr); }
    ~Folder() {
        for (const char* name : {"raw", "packed", "again"}) {
            remove(file(name).c_str());
        }
        rmdir(path_);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(const char* name) const { return std::string(path_) + "/" + name; }

private:
    char path_[32] = "/tmp/peakline_pack_XXXXXX";
};

void write_file(const std::string& path, const Bytes& bytes) {
    FILE* file = fopen(path.c_str(), "wb");
    REQUIRE(file != nullptr);
    REQUIRE(fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
    REQUIRE(fclose(file) == 0);
}

Bytes read_file(const std::string& path) {
    Bytes bytes;
    FILE* file = fopen(path.c_str(), "rb");
    REQUIRE(file != nullptr);
    for (int byte = fgetc(file); byte != EOF; byte = fgetc(file)) {
        bytes.push_back(static_cast<unsigned char>(byte));
    }
    fclose(file);
    return bytes;
}

// Text of the table without the name of the trace.
std::string table_of(const Bytes& bytes) {
    const report::TraceReader reader = report::TraceReader::from_memory("t", bytes);
    report::ReportOptions options;
    options.form = report::OutputForm::kJson;
    return report::make_table(reader, options, {});
}

Bytes packed_by(const Folder& folder, const Bytes& raw) {
    write_file(folder.file("raw"), raw);
    report::pack_trace(folder.file("raw"), folder.file("packed"), 3, {});
    return read_file(folder.file("packed"));
}

}  // namespace

TEST_CASE("a packed trace gives the same reports as the unpacked one", "[report]") {
    const Folder folder;
    const Bytes raw = TextTrace(kTrace).bytes();
    const Bytes packed = packed_by(folder, raw);
    CHECK(packed.size() < raw.size() / 10);
    CHECK(table_of(packed) == table_of(raw));
}

TEST_CASE("zstd itself unpacks a packed trace, and packing again changes nothing", "[report]") {
    const Folder folder;
    const Bytes raw = TextTrace(kTrace).bytes();
    const Bytes packed = packed_by(folder, raw);
    // Frame by frame, as any decompressor of concatenated frames does.
    Bytes unpacked(raw.size());
    size_t done = 0;
    for (size_t at = 0; at < packed.size();) {
        const size_t bytes = ZSTD_findFrameCompressedSize(packed.data() + at, packed.size() - at);
        REQUIRE(ZSTD_isError(bytes) == 0);
        const size_t size = ZSTD_decompress(
            unpacked.data() + done, unpacked.size() - done, packed.data() + at, bytes);
        REQUIRE(ZSTD_isError(size) == 0);
        done += size;
        at += bytes;
    }
    // Bytes after the last used chunk are left out.
    CHECK(
        std::equal(unpacked.begin(), unpacked.begin() + static_cast<ptrdiff_t>(done), raw.begin()));
    report::pack_trace(folder.file("packed"), folder.file("again"), 3, {});
    CHECK(read_file(folder.file("again")) == packed);
}

TEST_CASE("a damaged packed trace is reported, and never a crash", "[report]") {
    const Folder folder;
    const Bytes packed = packed_by(folder, TextTrace(kTrace).bytes());
    const std::string right = table_of(packed);
    size_t refused = 0;
    size_t told = 0;
    for (size_t i = 0; i < packed.size(); ++i) {
        Bytes damaged = packed;
        damaged[i] ^= 0x5A;
        try {
            told += table_of(damaged) != right ? 1 : 0;
        } catch (const report::TraceError&) {
            ++refused;
        }
    }
    CHECK(refused + told > packed.size() / 2);
    for (size_t size = 0; size < packed.size(); ++size) {
        const Bytes cut(packed.begin(), packed.begin() + static_cast<ptrdiff_t>(size));
        CHECK_THROWS_AS(table_of(cut), report::TraceError);
    }
}

TEST_CASE("packing leaves nothing behind when it fails", "[report]") {
    const Folder folder;
    write_file(folder.file("raw"), Bytes(100));
    CHECK_THROWS_AS(report::pack_trace(folder.file("raw"), folder.file("packed"), 3, {}),
                    report::TraceError);
    CHECK(access(folder.file("packed").c_str(), F_OK) != 0);
    write_file(folder.file("raw"), TextTrace(kTrace).bytes());
    write_file(folder.file("packed"), Bytes(1));
    CHECK_THROWS_AS(report::pack_trace(folder.file("raw"), folder.file("packed"), 3, {}),
                    report::TraceError);
    CHECK(read_file(folder.file("packed")).size() == 1);
    remove(folder.file("packed").c_str());
    CHECK_THROWS_AS(
        report::pack_trace(
            folder.file("raw"), folder.file("packed"), 3, [](double) { throw std::bad_alloc(); }),
        std::bad_alloc);
    CHECK(access(folder.file("packed").c_str(), F_OK) != 0);
}

}  // namespace peakline::test
