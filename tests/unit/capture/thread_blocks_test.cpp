// Blocks of working memory that threads pass on: allocator/capture/threads/thread_blocks.h.
#include "allocator/capture/threads/thread_blocks.h"

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/catching.h"

namespace peakline::capture {
namespace {

struct Note {
    std::atomic<uint32_t> owners;
    uint64_t text;
};

// Each test has a pool of its own: `kTest` tells them apart.
template <int kTest>
struct Pool {
    static inline thread_local Note* own = nullptr;
    static void set_own(Note* note) { own = note; }
    using Blocks = ThreadBlocks<Note, set_own>;

    static std::set<const Note*> all() {
        std::set<const Note*> notes;
        Blocks::visit_all([&](const Note& note) { notes.insert(&note); });
        return notes;
    }
};

TEST_CASE("a later thread takes over the block of an ended one, as it was left", "[threads]") {
    using One = Pool<1>;
    const Note* first = nullptr;
    std::thread([&] {
        Note* const note = One::Blocks::take_slow();
        REQUIRE(note == One::own);
        REQUIRE(note->text == 0);
        note->text = 42;
        first = note;
    }).join();
    std::thread([&] {
        REQUIRE(One::own == nullptr);
        REQUIRE(One::Blocks::take_slow() == first);
        REQUIRE(One::own->text == 42);
    }).join();
    REQUIRE(One::all() == std::set<const Note*>{first});
}

// Taken in the destructor of another key, after the block was released.
TEST_CASE("a thread that asks again at its very end gets a block and leaves it", "[threads]") {
    using Late = Pool<2>;
    static pthread_key_t late_key;
    pthread_key_create(&late_key, [](void*) {
        if (Late::own == nullptr) {
            Late::Blocks::take_slow();
        }
    });
    for (int round = 0; round < 3; ++round) {
        std::thread([] {
            Late::Blocks::take_slow();
            pthread_setspecific(late_key, &late_key);
        }).join();
    }
    REQUIRE(Late::all().size() == 1);
    pthread_key_delete(late_key);
}

TEST_CASE("no two threads have the same block, however fast they come and go", "[threads]") {
    using Many = Pool<3>;
    constexpr size_t kAtOnce = 8;
    std::atomic<uint32_t> shared_blocks{0};
    for (int round = 0; round < 300; ++round) {
        std::vector<std::thread> threads;
        for (size_t i = 0; i < kAtOnce; ++i) {
            threads.emplace_back([&] {
                Note* const note = Many::Blocks::take_slow();
                shared_blocks += note->owners.fetch_add(1) != 0 ? 1 : 0;
                std::this_thread::yield();
                note->owners.fetch_sub(1);
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    REQUIRE(shared_blocks == 0);
    REQUIRE(Many::all().size() <= kAtOnce);
}

TEST_CASE("in a forked child the blocks of threads that are not there are free", "[threads]") {
    using Forked = Pool<4>;
    std::atomic<int> waiting{0};
    std::atomic<bool> done{false};
    std::array<std::thread, 3> threads;
    for (std::thread& thread : threads) {
        thread = std::thread([&] {
            Forked::Blocks::take_slow();
            ++waiting;
            while (!done) {
                std::this_thread::yield();
            }
        });
    }
    while (waiting != static_cast<int>(threads.size())) {
        std::this_thread::yield();
    }
    Note* const own = Forked::Blocks::take_slow();
    const pid_t child = fork();
    if (child == 0) {
        Forked::Blocks::free_others(own);
        std::set<const Note*> taken{own};
        for (size_t i = 0; i < threads.size(); ++i) {
            taken.insert(Forked::Blocks::take_slow());
        }
        const bool all_reused = taken == Forked::all() && taken.size() == threads.size() + 1;
        _exit(all_reused ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    done = true;
    for (std::thread& thread : threads) {
        thread.join();
    }
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace peakline::capture
