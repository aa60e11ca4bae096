// CUDA_VISIBLE_DEVICES: which of the simulated devices a process sees, and in which order, as the
// real driver has it. The value that the program inherited from the shell names devices of the
// machine, not simulated ones: PEAKLINE_SIM_OUTER_VISIBLE repeats it, and it hides nothing.
#pragma once

#include <string>
#include <vector>

namespace simgpu {

// The indices that the list `text` chooses of `count` devices: numbers, or beginnings of
// "GPU-<uuid>". The list ends at the first name without a device; with a device named twice, there
// is none.
std::vector<int> chosen_devices(const char* text, int count);

// The same for the environment.
std::vector<int> visible_devices(int count);

void write_uuid(int index, unsigned char uuid[16]);
// "GPU-51585f66-6d74-..."
std::string uuid_text(int index);

}  // namespace simgpu
