#include "pack.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <zstd.h>

#include "report/trace/file/chunk_index.h"
#include "report/trace/file/new_file.h"
#include "report/trace/file/packed_file.h"
#include "report/trace/file/superblock.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

// Bytes up to the end of the last used chunk.
uint64_t used_bytes(const ByteSource& source) {
    Problems known_problems;  // the packed trace reports them again
    const format::Superblock superblock = read_superblock(source, known_problems);
    const size_t chunk_count = index_chunks(source, superblock, known_problems).size();
    return chunk_count == 0
               ? source.size_bytes()
               : std::min(source.size_bytes(),
                          format::kSuperblockBytes + chunk_count * format::kChunkBytes);
}

}  // namespace

PackedSizes pack_trace(const std::string& path,
                       const std::string& packed_path,
                       int level,
                       const Progress& progress) {
    const ByteSource source = ByteSource::open_file(path);
    const uint64_t end = used_bytes(source);
    const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
    NewFile file(packed_path);
    std::vector<std::pair<uint32_t, uint32_t>> sizes;
    std::vector<unsigned char> scratch;
    std::vector<unsigned char> packed(ZSTD_compressBound(format::kChunkBytes));
    PackedSizes result;
    for (uint64_t offset = 0; offset < end;) {
        const size_t wanted = offset == 0 ? format::kSuperblockBytes : format::kChunkBytes;
        const auto raw = source.read(
            offset, static_cast<size_t>(std::min<uint64_t>(wanted, end - offset)), scratch);
        if (raw.empty()) {
            break;  // the file was cut meanwhile
        }
        const size_t size =
            ZSTD_compress2(context.get(), packed.data(), packed.size(), raw.data(), raw.size());
        if (ZSTD_isError(size) != 0) {
            throw TraceError(path + ": cannot compress: " + ZSTD_getErrorName(size));
        }
        file.write(packed.data(), size);
        sizes.emplace_back(static_cast<uint32_t>(size), static_cast<uint32_t>(raw.size()));
        result.raw_bytes += raw.size();
        result.packed_bytes += size;
        offset += raw.size();
        if (progress) {
            progress(static_cast<double>(offset) / static_cast<double>(end));
        }
    }
    const std::vector<unsigned char> table = seek_table(sizes);
    file.write(table.data(), table.size());
    file.finish();
    result.packed_bytes += table.size();
    return result;
}

}  // namespace peakline::report
