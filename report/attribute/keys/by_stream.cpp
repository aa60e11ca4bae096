// --by stream: the stream the block was made for. Every device has its own default stream.
#include <cstdio>

#include "report/attribute/grouping.h"
#include "report/replay/values/device_names.h"

namespace peakline::report {

std::string stream_text(const Definitions& definitions, uint32_t stream) {
    if (!definitions.streams.has(stream)) {
        return "unknown stream";
    }
    if (definitions.streams[stream] == kLostStream) {
        return kLostName;
    }
    if (stream == 0) {
        return "default stream";
    }
    char handle[32];
    std::snprintf(handle,
                  sizeof(handle),
                  "stream 0x%llx",
                  static_cast<unsigned long long>(definitions.streams[stream]));
    return handle;
}

BlockRow row_by_stream(StackLookup& stacks, const BlockGroup& block) {
    if (format::is_of_host(block.device)) {
        return named_row(device_name(block.device));  // the host has no streams
    }
    return named_row(device_name(block.device) + ", " +
                     stream_text(stacks.definitions(), block.stream));
}

}  // namespace peakline::report
