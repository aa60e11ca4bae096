// Reads of values that do not exist, and what the calling thread runs meanwhile: reported by the
// companion (driver/companion.h), if there is one.
#pragma once

#include <cstddef>

namespace simgpu {

// `host` holds the bytes, zero or computed from zeros; it may change them.
using ReadHandler = void (*)(void* host, size_t bytes);
void set_read_handler(ReadHandler handler);

// Of this thread. launches_are_reported: the companion says what its launches write, so they forget
// nothing. reads_are_guessed: it copies what an operator keeps for itself, so what is known of
// these addresses belongs to memory that was given back.
struct RunningOperator {
    bool launches_are_reported = false;
    bool reads_are_guessed = false;
};
RunningOperator& running_operator();

// Remembers a guessed read of this thread; the world's lock is held. report_guessed_reads() hands
// them to the handler once it is not.
void note_guessed_read(unsigned char* host, size_t bytes);
void report_guessed_reads();

}  // namespace simgpu
