// Names of memory that processes share (SharedMemory in events.h): the recorder writes them, and
// the report looks for them in the traces of other processes. A number of 16 hexadecimal digits
// follows, the same in every process.
#pragma once

#include <string_view>

namespace peakline::format {

// This process gave a handle away (CUDA IPC), or opened the handle of another one.
inline constexpr std::string_view kOwnedName = "cuda-ipc owned ";
inline constexpr std::string_view kOpenedName = "cuda-ipc opened ";

}  // namespace peakline::format
