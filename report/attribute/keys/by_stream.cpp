// --by stream: the stream the block was made for. Every device has its own default stream.
#include <cstdio>

#include "report/attribute/grouping.h"
#include "report/replay/values/device_names.h"

namespace peakline::report {

Placement place_by_stream(StackLookup& stacks, const BlockGroup& block) {
    if (format::is_of_host(block.device)) {
        return named_placement(device_name(block.device));  // the host has no streams
    }
    const Definitions& definitions = stacks.definitions();
    std::string stream = "default stream";
    if (!definitions.streams.has(block.stream)) {
        stream = "unknown stream";
    } else if (definitions.streams[block.stream] == kLostStream) {
        stream = kLostName;
    } else if (block.stream != 0) {
        char handle[32];
        std::snprintf(handle,
                      sizeof(handle),
                      "stream 0x%llx",
                      static_cast<unsigned long long>(definitions.streams[block.stream]));
        stream = handle;
    }
    return named_placement(device_name(block.device) + ", " + stream);
}

}  // namespace peakline::report
