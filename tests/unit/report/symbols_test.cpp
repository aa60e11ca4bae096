// Native names from ELF files: this very program, and the same file cut, flipped and missing.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <utility>

#include <link.h>
#include <unistd.h>

#include "report/attribute/operators/native_frames.h"
#include "report/symbols/module_files.h"
#include "report/symbols/native_symbols.h"
#include "report/symbols/symbol_table.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {

// Names that no other function has.
__attribute__((noinline)) int symbols_test_probe(int value) {
    return value * 3 + static_cast<int>(getpid() & 1);
}

namespace {

using report::ElfImage;
using report::MappedFile;
using report::NativeSymbols;
using report::SymbolTable;

uint64_t load_bias() {
    uint64_t bias = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
            *static_cast<uint64_t*>(data) = info->dlpi_addr;
            return 1;  // the program itself comes first
        },
        &bias);
    return bias;
}

uint64_t probe_offset() {
    return reinterpret_cast<uint64_t>(&symbols_test_probe) - load_bias();
}

// The definitions of a trace with one native frame in `path`.
OpenTrace trace_of(const std::string& path,
                   std::string_view build_id,
                   uint64_t address,
                   const std::vector<std::pair<const char*, std::string>>& meta = {}) {
    TraceBuilder builder;
    for (const auto& [key, value] : meta) {
        builder.define_meta(key, value);
    }
    Bytes module = fields({0x1000, 0x2000, 0x1000, builder.define_string(path)});
    module.insert(module.end(), build_id.begin(), build_id.end());
    builder.define(format::DefType::kModule, module);
    const uint32_t frame = builder.define(format::DefType::kNativeFrame, fields({1, address}));
    const uint32_t node = builder.define(format::DefType::kNativeNode, fields({0, frame}));
    builder.define(format::DefType::kContext, fields({0, 0, node, 0, 0, 0}));
    builder.mark(format::MarkKind::kTracingStarted);
    builder.alloc_inline(fields({1, 0, 0, 8, 0}), 0x1000);
    builder.mark(format::MarkKind::kProcessEnd);
    return OpenTrace(builder.finish());
}

std::string own_path() {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    return {path, static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

TEST_CASE("a function of this program has its name", "[report][symbols]") {
    const MappedFile file(own_path());
    const ElfImage image(file.bytes());
    const SymbolTable table(image);
    REQUIRE(table.size() > 1000);
    REQUIRE(symbols_test_probe(2) >= 6);
    CHECK(report::demangle(table.find(probe_offset())) ==
          "peakline::test::symbols_test_probe(int)");
    CHECK(table.find(probe_offset()) != table.find(probe_offset() - 1));
    CHECK(table.find(0).empty());
    CHECK(table.find(UINT64_MAX).empty());
}

TEST_CASE("names are given for the recorded build of a file only", "[report][symbols]") {
    const MappedFile file(own_path());
    const std::string build_id(ElfImage(file.bytes()).build_id());
    const auto name_of = [](const OpenTrace& trace, uint64_t unmatched) {
        NativeSymbols symbols(trace.reader.definitions());
        const std::string name = symbols.name(1);
        CHECK(symbols.unmatched_module_count() == unmatched);
        return name;
    };
    // A return address: one byte on is still the call before it.
    const uint64_t address = probe_offset() + 1;
    const std::string offset = [&] {
        char text[32];
        std::snprintf(text, sizeof(text), "+0x%llx", static_cast<unsigned long long>(address));
        return std::string(text);
    }();
    if (!build_id.empty()) {
        CHECK(name_of(trace_of(own_path(), build_id, address), 0) ==
              "peakline::test::symbols_test_probe(int)");
    }
    CHECK(name_of(trace_of(own_path(), "another build", address), 1) == "unit_tests" + offset);
    CHECK(name_of(trace_of(own_path(), "", address), 1) == "unit_tests" + offset);
    CHECK(name_of(trace_of("/nowhere/libgone.so.1", build_id, address), 1) ==
          "libgone.so.1" + offset);
    CHECK(name_of(trace_of("/dev/zero", build_id, address), 1) == "zero" + offset);
    // Names that are no paths: the kernel's module, and the executable.
    CHECK(name_of(trace_of("linux-vdso.so.1", build_id, address), 0) == "linux-vdso.so.1" + offset);
    CHECK(name_of(trace_of("(executable)", build_id, address), 0) == "(executable)" + offset);
}

// A folder that goes with the test.
struct Folder {
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string add(const std::string& name) const {
        const std::filesystem::path file = path / name;
        std::filesystem::create_directories(file.parent_path());
        return file.string();
    }
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("peakline_symbols_" + std::to_string(getpid()));
};

std::string hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(byte));
        text += digits;
    }
    return text;
}

TEST_CASE("a library is found in another folder, by its build id only", "[report][symbols]") {
    const std::string build_id(ElfImage(MappedFile(own_path()).bytes()).build_id());
    if (build_id.empty()) {
        WARN("SKIP: this program was linked without a build id");
        return;
    }
    constexpr const char* kName = "peakline::test::symbols_test_probe(int)";
    const OpenTrace trace = trace_of("/nowhere/lib/libgone.so.1", build_id, probe_offset() + 1);
    const auto name_in = [&trace](const std::vector<std::string>& folders, uint64_t unmatched) {
        NativeSymbols symbols(trace.reader.definitions(), folders);
        const std::string name = symbols.name(1);
        CHECK(symbols.unmatched_module_count() == unmatched);
        return name;
    };
    const Folder folder;
    const std::string here = folder.path.string();
    CHECK_THAT(name_in({here}, 1), Catch::StartsWith("libgone.so.1+0x"));
    // The same name, another build: no name is better than a wrong one.
    std::ofstream(folder.add("a/libgone.so.1"), std::ios::binary) << "\x7f"
                                                                  << "ELF, but no more";
    CHECK_THAT(name_in({here}, 1), Catch::StartsWith("libgone.so.1+0x"));
    std::filesystem::create_symlink(own_path(), folder.add("b/deep/libgone.so.1"));
    CHECK(name_in({here}, 0) == kName);
    CHECK(name_in({"/nowhere", here}, 0) == kName);
    CHECK_THAT(name_in({here + "/a"}, 1), Catch::StartsWith("libgone.so.1+0x"));
    // As debuggers look for them.
    const std::string digits = hex(build_id);
    const std::string debug = "debug/.build-id/" + digits.substr(0, 2) + "/";
    std::filesystem::create_symlink(own_path(), folder.add(debug + digits.substr(2) + ".debug"));
    CHECK(name_in({here + "/debug"}, 0) == kName);
}

TEST_CASE("a library counts as unmatched when its names are needed", "[report][symbols]") {
    const OpenTrace trace = trace_of("/nowhere/libgone.so.1", "id", 0x1234);
    NativeSymbols symbols(trace.reader.definitions());
    {
        const NativeSymbols::Uncounted uncounted(symbols);
        symbols.name(1);
        CHECK(symbols.unmatched_module_count() == 0);
    }
    symbols.name(1);
    symbols.name(1);
    CHECK(symbols.unmatched_module_count() == 1);
}

TEST_CASE("a report says once how many libraries could not be matched", "[report][symbols]") {
    const OpenTrace trace = trace_of("/nowhere/libgone.so.1", "id", 0x1234);
    report::ReportOptions options;
    options.selection.by = "op";
    const std::string text = report_text(report::make_table, trace.reader, options);
    CHECK_THAT(text, Catch::Contains("no operator: libgone.so.1+0x1234\n"));
    CHECK_THAT(text, Catch::Contains("1 library of the program could not be matched"));
    options.selection.by = "thread";
    CHECK(report_text(report::make_table, trace.reader, options).find("library of") ==
          std::string::npos);
}

TEST_CASE("without Python a row has the program's own native function", "[report][symbols]") {
    const MappedFile file(own_path());
    const std::string build_id(ElfImage(file.bytes()).build_id());
    const auto rows = [&](const char* path,
                          std::vector<std::pair<const char*, std::string>> meta,
                          report::SelectionText selection = {}) {
        return trace_of(path, build_id, probe_offset() + 1, meta).rows(std::move(selection));
    };
    const std::string own = "8 B  8 B  8 B  1  peakline::test::symbols_test_probe (unit_tests)\n";
    const auto say = std::string(
        "Recorded with --stacks native: Python lines were not recorded; to"
        " see them, record with --stacks all\n");
    const std::string path = own_path();
    CHECK(rows(path.c_str(), {{"stacks", "native"}, {"python_version", "3.12.1"}}) == own + say);
    // A program without Python: the loader knows an executable by no path.
    CHECK(rows("(executable)", {{"stacks", "all"}, {"executable", path}}) == own);
    // Python was to be recorded and ran elsewhere.
    CHECK(rows(path.c_str(), {{"stacks", "all"}, {"python_version", "3.12.1"}}) ==
          "8 B  8 B  8 B  1  no python frame\n");
    report::SelectionText stack;
    stack.by = "stack";
    stack.native = true;
    CHECK(rows(path.c_str(), {{"stacks", "all"}, {"python_version", "3.12.1"}}, stack) == own);
    stack.by = "line";
    CHECK_THROWS_WITH(rows(path.c_str(), {}, stack), Catch::Contains("needs --by stack"));
}

TEST_CASE("a native function is shown without its arguments", "[report][symbols]") {
    using report::short_function;
    CHECK(short_function("vision::ops::(anonymous namespace)::roi_align(at::Tensor const&)") ==
          "vision::ops::roi_align");
    CHECK(short_function("void gemm<float, float>(char, long)") == "gemm<float, float>");
    CHECK(short_function("at::Tensor wrap<at::Tensor (int), at::Tensor>::call(int)") ==
          "wrap<...>::call");
    CHECK(short_function("Node::operator()(std::vector<int>&&)") == "Node::operator()");
    CHECK(short_function("at::impl(at::Tensor&)::{lambda()#5}::operator()() const") == "at::impl");
    CHECK(short_function("start(int)::{lambda(int)#1}::operator()(int) const") == "start");
    CHECK(short_function("run<start(int)::{lambda()#1}>()") == "run<...>");
    CHECK(short_function("main") == "main");
    CHECK(short_function("libc.so.6+0x891f5") == "libc.so.6+0x891f5");
    CHECK(short_function("open<(").starts_with("open"));
}

// A small file with everything the reader looks at.
Bytes small_elf() {
    Elf64_Ehdr header = {};
    std::copy_n(ELFMAG, SELFMAG, header.e_ident);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_phnum = 1;
    header.e_shnum = 3;
    header.e_phoff = sizeof(header);
    header.e_shoff = header.e_phoff + sizeof(Elf64_Phdr);
    const uint64_t notes_at = header.e_shoff + 3 * sizeof(Elf64_Shdr);
    const uint64_t symbols_at = notes_at + sizeof(Elf64_Nhdr) + 8;
    const uint64_t strings_at = symbols_at + 2 * sizeof(Elf64_Sym);
    Elf64_Phdr segment = {};
    segment.p_type = PT_NOTE;
    segment.p_offset = notes_at;
    segment.p_filesz = sizeof(Elf64_Nhdr) + 8;
    Elf64_Shdr sections[3] = {};
    sections[1].sh_type = SHT_SYMTAB;
    sections[1].sh_offset = symbols_at;
    sections[1].sh_size = 2 * sizeof(Elf64_Sym);
    sections[1].sh_entsize = sizeof(Elf64_Sym);
    sections[1].sh_link = 2;
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = strings_at;
    sections[2].sh_size = 9;
    const Elf64_Nhdr note = {4, 4, NT_GNU_BUILD_ID};
    Elf64_Sym symbols[2] = {};
    symbols[1].st_name = 1;
    symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbols[1].st_shndx = 1;
    symbols[1].st_value = 0x1000;
    symbols[1].st_size = 16;
    Bytes file;
    const auto append = [&file](const void* bytes, size_t size) {
        const auto* from = static_cast<const unsigned char*>(bytes);
        file.insert(file.end(), from, from + size);
    };
    append(&header, sizeof(header));
    append(&segment, sizeof(segment));
    append(sections, sizeof(sections));
    append(&note, sizeof(note));
    append("GNU\0beef", 8);
    append(symbols, sizeof(symbols));
    append("\0_Z1fiv\0", 9);
    return file;
}

void look_everywhere(const Bytes& bytes) {
    const ElfImage image(bytes);
    const SymbolTable table(image);
    for (const uint64_t address : {0ULL, 0x1000ULL, 0x100fULL, 0x1010ULL, ~0ULL}) {
        report::demangle(table.find(address));
    }
    CHECK(image.build_id().size() <= bytes.size());
}

TEST_CASE("hostile files neither crash nor read outside of themselves", "[report][symbols]") {
    const Bytes whole = small_elf();
    CHECK(ElfImage(whole).build_id() == "beef");
    CHECK(SymbolTable(ElfImage(whole)).size() == 1);
    for (size_t length = 0; length <= whole.size(); ++length) {
        look_everywhere(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length)));
    }
    for (size_t i = 0; i < whole.size(); ++i) {
        for (const int mask : {0x01, 0x80, 0xFF}) {
            Bytes damaged = whole;
            damaged[i] = static_cast<unsigned char>(damaged[i] ^ mask);
            look_everywhere(damaged);
        }
    }
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i) {
        Bytes damaged = whole;
        for (int changes = 0; changes < 6; ++changes) {
            damaged[random() % damaged.size()] = static_cast<unsigned char>(random() % 5 * 63);
        }
        look_everywhere(damaged);
    }
}

TEST_CASE("a function is found by any of its bytes", "[report][symbols]") {
    const Bytes file = small_elf();
    const ElfImage image(file);
    const SymbolTable table(image);
    CHECK(table.find(0x0fff).empty());
    CHECK(table.find(0x1000) == "_Z1fiv");
    CHECK(table.find(0x100f) == "_Z1fiv");
    CHECK(table.find(0x1010).empty());
}

TEST_CASE("a module is read once while KeptModules lives, and released after it", "[symbols]") {
    const std::string build_id(ElfImage(MappedFile(own_path()).bytes()).build_id());
    std::weak_ptr<const report::ModuleFile> module;
    std::weak_ptr<const report::ModuleFile> missing;
    {
        const report::KeptModules first;
        module = report::open_module(own_path(), build_id);
        missing = report::open_module("/nowhere/libgone.so.1", build_id);
        const report::KeptModules second;
    }
    CHECK(missing.expired());
    CHECK(module.expired());
    const report::KeptModules keeper;
    module = report::open_module(own_path(), build_id);
    missing = report::open_module("/nowhere/libgone.so.1", build_id);
    CHECK(missing.expired());
    if (!build_id.empty()) {
        REQUIRE(!module.expired());
        CHECK(report::open_module(own_path(), build_id) == module.lock());
        CHECK(report::open_module(own_path(), "another")->table == std::nullopt);
    }
}

}  // namespace
}  // namespace peakline::test
