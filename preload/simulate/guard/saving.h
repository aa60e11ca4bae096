// Tracks whether the current thread is saving a checkpoint (torch.save, save_pretrained ...) or
// removing a folder of checkpoints. The Python part reports both
// (preload/simulate/python/_peakline_simulated/checkpoints.py).
#pragma once

namespace peakline::guard {

bool is_saving();
bool is_removing_checkpoints();
// Whether the run has used a device. Before that, all values are real.
bool values_are_simulated();
// Marks the file of this descriptor as a checkpoint without real values.
void mark_saved(int descriptor);
// Each prints one sentence on stderr, once per run.
void say_kept(const char* path);
void say_new(const char* path);

}  // namespace peakline::guard
