// Detects checkpoints by name and by content. Reads files, changes none.
#pragma once

namespace peakline::guard {

// A name that only checkpoints have (model.pt).
bool is_checkpoint_name(const char* path);
// Also accepts names that other files have, too (config.json, data.bin, cache.pkl).
bool may_be_checkpoint_name(const char* path);
// Whether torch.save or safetensors wrote the file.
bool holds_checkpoint(const char* path);
// A small file of a checkpoint (config.json), in a folder with the large ones.
bool is_beside_checkpoint(const char* path);
// A symbolic link to a checkpoint or to a folder with one.
bool is_link_to_checkpoint(const char* path);
// Downloads and caches of compilers: no checkpoint of this run is there.
bool is_in_cache(const char* path);

}  // namespace peakline::guard
