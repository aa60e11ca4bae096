// The functions of elfutils' libdw that source_lines.cpp calls, looked up on first use: a machine
// that only reads traces need not have the library. Names and layouts are those of elfutils/libdw.h
// and libdwfl.h, unchanged since 0.122.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::report {

struct DwarfDie {
    void* address;
    void* unit;
    void* abbreviation;
    long padding;
};
struct DwarfAttribute {
    unsigned code;
    unsigned form;
    unsigned char* value;
    void* unit;
};
struct DwflCallbacks {
    int (*find_elf)(void*, void**, const char*, uint64_t, char**, void**);
    int (*find_debug_info)(
        void*, void**, const char*, uint64_t, const char*, const char*, uint32_t, char**);
    void* section_address;
    char** debug_info_path;
};

inline constexpr int kTagFunction = 0x2e;
inline constexpr int kTagInlinedSubroutine = 0x1d;
inline constexpr unsigned kAttributeCallFile = 0x58;
inline constexpr unsigned kAttributeCallLine = 0x59;

struct DwarfLibrary {
    void* (*dwfl_begin)(const DwflCallbacks*);
    void (*dwfl_end)(void*);
    void* (*dwfl_report_offline)(void*, const char* name, const char* file, int descriptor);
    int (*dwfl_report_end)(void*, void*, void*);
    void* section_address;  // dwfl_offline_section_address
    void* (*dwfl_module_getdwarf)(void* module, uint64_t* bias);
    void* (*dwfl_module_getsrc)(void* module, uint64_t address);
    const char* (*dwfl_lineinfo)(
        void* line, uint64_t*, int* number, int* column, uint64_t*, uint64_t*);
    DwarfDie* (*dwfl_module_addrdie)(void* module, uint64_t address, uint64_t* bias);
    int (*dwarf_getscopes)(DwarfDie* unit, uint64_t address, DwarfDie** scopes);
    int (*dwarf_getscopes_die)(DwarfDie* entry, DwarfDie** scopes);
    int (*dwarf_tag)(DwarfDie*);
    const char* (*dwarf_diename)(DwarfDie*);
    DwarfAttribute* (*dwarf_attr_integrate)(DwarfDie*, unsigned name, DwarfAttribute*);
    int (*dwarf_formudata)(DwarfAttribute*, uint64_t*);
    int (*dwarf_getsrcfiles)(DwarfDie* unit, void** files, size_t* count);
    const char* (*dwarf_filesrc)(void* files, size_t index, uint64_t*, uint64_t*);
};

// nullptr: this machine has no libdw.so.1. Any thread may call.
const DwarfLibrary* dwarf_library();

}  // namespace peakline::report
