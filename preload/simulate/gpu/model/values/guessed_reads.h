// Reads of values that do not exist, and the state of the thread's running operators, as reported
// by the companion (driver/companion.h), if there is one.
#pragma once

#include <cstddef>

namespace simgpu {

// `host` holds the bytes, zero or computed from zeros; the handler may change them.
using ReadHandler = void (*)(void* host, size_t bytes);
void set_read_handler(ReadHandler handler);

// State of this thread. launches_are_reported: the companion reports the outputs of its launches,
// so launches forget nothing. reads_are_guessed: the thread copies an operator's own temporary
// memory, so known contents of these addresses belong to an earlier block.
struct RunningOperator {
    bool launches_are_reported = false;
    bool reads_are_guessed = false;
};
RunningOperator& running_operator();

// Notes a guessed read of this thread, with the world's lock held. report_guessed_reads() passes
// the reads to the handler after the lock is released.
void note_guessed_read(unsigned char* host, size_t bytes);
void report_guessed_reads();

}  // namespace simgpu
