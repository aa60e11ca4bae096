// Compiles report/symbols as part of this folder, until the Makefile's list of report folders has
// `symbols`; then this file goes.
#include "report/symbols/elf_image.cpp"       // NOLINT(bugprone-suspicious-include): see above
#include "report/symbols/native_symbols.cpp"  // NOLINT(bugprone-suspicious-include): see above
#include "report/symbols/symbol_table.cpp"    // NOLINT(bugprone-suspicious-include): see above
