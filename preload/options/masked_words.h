// Masks secrets in the command line of a trace, since people share traces, pages and tables. "***"
// replaces:
//   the value of a name that ends with token, secret, password, api-key ...: --token X, API_KEY=X,
//   "api_key": "X" within code or JSON, ?token=X within an address;
//   the password of an address: https://user:X@host;
//   a word with the beginning of a known kind of key: hf_, sk-, AKIA, ghp_, eyJ ...
// A secret under another name is not found: PEAKLINE_NO_COMMAND leaves the command line out.
#pragma once

#include <cstddef>

namespace peakline::preload {

// Fills `text` with the words, separated by blanks, cut to `room`.
void write_masked(const char* const* words, size_t count, char* text, size_t room);

}  // namespace peakline::preload
