// The loader's words are used only while they agree with dl_iterate_phdr.
#include "allocator/capture/libraries/loader_counts.h"

#include <cstdint>

#include <dlfcn.h>
#include <link.h>

#include "allocator/capture/unwind/unwind_rules.h"
#include "tests/unit/catching.h"

using namespace peakline::capture;

namespace {

// Part of glibc, and nothing here needs it.
constexpr char kRareLibrary[] = "libBrokenLocale.so.1";

struct Answer {
    uint64_t added;
    uint64_t removed;
};

Answer ask_loader() {
    Answer answer{};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
            *static_cast<Answer*>(data) = Answer{info->dlpi_adds, info->dlpi_subs};
            return 1;
        },
        &answer);
    return answer;
}

bool words_are_right() {
    const Answer answer = ask_loader();
    return libraries_added() == answer.added && are_libraries_removed(answer.removed) &&
           !are_libraries_removed(answer.removed + 1);
}

// In the state that a program is in after its recorder and one library were loaded.
void follow_one_library() {
    find_loader_words_slow();
    refresh_code_epoch_slow();
    void* library = dlopen(kRareLibrary, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    refresh_code_epoch_slow();
    dlclose(library);
    refresh_code_epoch_slow();
}

}  // namespace

TEST_CASE("the loader's words follow each library that comes and goes", "[capture]") {
    follow_one_library();
    for (int round = 0; round < 5; ++round) {
        CHECK(words_are_right());
        void* library = dlopen(kRareLibrary, RTLD_NOW | RTLD_LOCAL);
        REQUIRE(library != nullptr);
        CHECK(words_are_right());
        dlclose(library);
    }
    CHECK(words_are_right());
}

TEST_CASE("with libraries in another namespace the loader's words are not read",
          "[capture][namespaces]") {
    follow_one_library();
    const uint64_t added = libraries_added();
    REQUIRE(added != kUnknownLibraries);
    void* library = dlmopen(LM_ID_NEWLM, kRareLibrary, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    CHECK(libraries_added() > added);
    refresh_code_epoch_slow();
    CHECK(libraries_added() == kUnknownLibraries);
    CHECK_FALSE(are_libraries_removed(ask_loader().removed));
    dlclose(library);
    refresh_code_epoch_slow();
    CHECK(words_are_right());
}
