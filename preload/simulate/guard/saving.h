// What the running thread is doing: saving a checkpoint (torch.save, save_pretrained ...) or
// removing a folder of checkpoints. The Python part reports both
// (preload/simulate/python/_peakline_simulated/checkpoints.py).
#pragma once

namespace peakline::guard {

bool is_saving();
bool is_removing_checkpoints();
// Whether the run has used a device: before that all values are real.
bool values_are_simulated();
// The file behind this descriptor is a checkpoint without real values from now on.
void mark_saved(int descriptor);
// One sentence on stderr, once per run each.
void say_kept(const char* path);
void say_new(const char* path);

}  // namespace peakline::guard
