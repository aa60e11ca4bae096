// Which files are checkpoints: by name, and by what is in them. Reads files, changes none.
#pragma once

namespace peakline::guard {

// A name that only checkpoints have (model.pt).
bool is_checkpoint_name(const char* path);
// The same, and names that other files have, too (config.json, data.bin, cache.pkl).
bool may_be_checkpoint_name(const char* path);
// What torch.save or safetensors wrote.
bool holds_checkpoint(const char* path);
// A small file of a checkpoint (config.json), in a folder that has the large ones.
bool is_beside_checkpoint(const char* path);
// A symbolic link to a checkpoint or to a folder of one.
bool is_link_to_checkpoint(const char* path);
// Downloads and the caches of compilers: nothing there is a checkpoint of this run.
bool is_in_cache(const char* path);

}  // namespace peakline::guard
