// The library of an address, and the locks that the search holds while it queries the loader.
#include "allocator/capture/libraries/module_map.h"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "tests/unit/catching.h"

using namespace peakline;
using namespace std::chrono_literals;

namespace {

uint32_t some_stack(record::StackTable& table) {
    const uint32_t text = table.intern_text("a");
    return table.intern_python_node(0, table.intern_python_frame(text, text, text, 1, 0));
}

void* in_libc() {
    return reinterpret_cast<void*>(&getpid);
}

}  // namespace

TEST_CASE("every address has the library that dladdr names", "[modules]") {
    record::StackTable table;
    REQUIRE(table.init());
    int local = 0;
    void* const addresses[] = {in_libc(),
                               reinterpret_cast<void*>(&some_stack),
                               &local,
                               reinterpret_cast<void*>(&dlsym),
                               in_libc()};
    capture::ModuleHit hits[5];
    capture::find_modules_slow(table, addresses, 5, hits);

    CHECK(hits[2].module == 0);
    CHECK(hits[0].module == hits[4].module);
    CHECK(hits[0].module != hits[1].module);
    for (const size_t i : {0, 1, 3}) {
        Dl_info info;
        REQUIRE(dladdr(addresses[i], &info) != 0);
        CHECK(hits[i].module != 0);
        CHECK(hits[i].load_bias <= reinterpret_cast<uint64_t>(info.dli_fbase));
    }
}

// A signal handler of the program may unwind, which takes the loader's lock, in a thread that holds
// the table's.
TEST_CASE("a search waits for the table without the loader's lock", "[modules]") {
    record::StackTable table;
    REQUIRE(table.init());
    const uint32_t stack = some_stack(table);
    std::future<void> search;
    std::future<void> handler;
    table.visit_python_stack(stack, [&](auto&&...) {
        search = std::async(std::launch::async, [&] {
            void* address = in_libc();
            capture::ModuleHit hit{};
            capture::find_modules_slow(table, &address, 1, &hit);
        });
        CHECK(search.wait_for(100ms) == std::future_status::timeout);
        handler = std::async(std::launch::async, [] {
            dl_iterate_phdr([](dl_phdr_info*, size_t, void*) { return 1; }, nullptr);
        });
        CHECK(handler.wait_for(10s) == std::future_status::ready);
        return false;
    });
    search.get();
}
