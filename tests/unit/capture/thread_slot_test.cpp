// Slots of threads, found beside keys of others that hold the same, and not found where there is
// none.
#include "pyhook/frames/thread_slot.h"

#include <thread>
#include <vector>

#include <pthread.h>

#include "tests/unit/catching.h"

using namespace peakline::pyhook;

namespace {

pthread_key_t g_key;
thread_local void* g_own = nullptr;

void* value_of_key() {
    return pthread_getspecific(g_key);
}
void* value_without_key() {
    return g_own;
}

class Keys {
public:
    explicit Keys(size_t count) : keys_(count) {
        for (pthread_key_t& key : keys_) {
            REQUIRE(pthread_key_create(&key, nullptr) == 0);
        }
    }
    ~Keys() {
        for (const pthread_key_t key : keys_) {
            pthread_key_delete(key);
        }
    }
    Keys(const Keys&) = delete;
    Keys& operator=(const Keys&) = delete;
    pthread_key_t operator[](size_t i) const { return keys_[i]; }

private:
    std::vector<pthread_key_t> keys_;
};

}  // namespace

TEST_CASE("the slot is that of the key, in every thread", "[pyhook]") {
    const Keys keys(3);
    int one = 0;
    int other = 0;
    for (size_t i = 0; i < 3; ++i) {
        pthread_setspecific(keys[i], &one);
    }
    for (size_t i = 0; i < 3; ++i) {
        g_key = keys[i];
        const ptrdiff_t slot = find_thread_slot(value_of_key);
        REQUIRE(slot != 0);
        CHECK(read_thread_slot(slot) == &one);
        std::thread([&] {
            CHECK(read_thread_slot(slot) == nullptr);
            pthread_setspecific(keys[i], &other);
            CHECK(read_thread_slot(slot) == &other);
        }).join();
        for (size_t j = 0; j < 3; ++j) {
            CHECK(pthread_getspecific(keys[j]) == &one);  // as before
        }
    }
}

TEST_CASE("without a value, a key or a key among the first there is no slot", "[pyhook]") {
    const Keys keys(40);
    g_key = keys[0];
    CHECK(find_thread_slot(value_of_key) == 0);
    int one = 0;
    g_own = &one;
    pthread_setspecific(keys[1], &one);
    CHECK(find_thread_slot(value_without_key) == 0);
    g_own = nullptr;
    g_key = keys[39];
    pthread_setspecific(g_key, &one);
    CHECK(find_thread_slot(value_of_key) == 0);
    g_key = keys[2];
    pthread_setspecific(g_key, &one);
    CHECK(find_thread_slot(value_of_key) == 0);  // no key is left to look with
}
