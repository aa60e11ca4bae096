// The main of all C++ tests: a file of its own, because Catch2's runner takes long to compile.
// Version 3 has it in a library.
#define CATCH_CONFIG_MAIN
#include "tests/unit/catching.h"
