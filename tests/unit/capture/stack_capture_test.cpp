// How often the Python side is asked: once in a pause, see Note [Without the GIL].
#include "allocator/capture/stack_capture.h"

#include <memory>

#include "tests/unit/catching.h"

using namespace peakline;
using namespace peakline::capture;

namespace {

constexpr uint64_t kFirstPause = 5;
constexpr uint64_t kRunning = 8;
constexpr uint64_t kSecondPause = 11;

// The answers of the fake Python side, and the number of its calls.
struct Answers {
    uint32_t node;
    uint32_t number;
    uint32_t flags;
    int asked;
};
Answers g_answers;

// Replaces pyhook's side, and restores it at the end.
class FakePython {
public:
    FakePython() : before_(python_side()) {
        PythonSide side = before_;
        side.attach = [](char*, size_t, void (*)()) { return Attach::kAttached; };
        side.predicted_stack = [](uint32_t) { return kOtherStack; };
        side.capture_stack = [](record::StackTable&, uint32_t* flags, uint32_t* number) {
            ++g_answers.asked;
            *flags |= g_answers.flags;
            *number = g_answers.number;
            return g_answers.node;
        };
        side.fetch_stack = [](uint32_t) {};
        set_python_side(side);
        char reason[8];
        attach_python(reason, sizeof reason, nullptr);
        g_answers = {11, 1, 0, 0};
        g_python_pause = kRunning;
    }
    ~FakePython() {
        PythonSide nobody = before_;
        nobody.attach = [](char*, size_t, void (*)()) { return Attach::kNot; };
        set_python_side(nobody);
        char reason[8];
        attach_python(reason, sizeof reason, nullptr);
        set_python_side(before_);
        g_python_pause = kRunning;
    }
    FakePython(const FakePython&) = delete;
    FakePython& operator=(const FakePython&) = delete;

    uint32_t capture() {
        flags = 0;
        return capture_python(table, *state, &flags);
    }

    record::StackTable table;
    std::unique_ptr<ThreadState> state = std::make_unique<ThreadState>();
    uint32_t flags = 0;

private:
    PythonSide before_;
};

}  // namespace

TEST_CASE("in one pause the Python side is asked once", "[capture]") {
    FakePython python;
    g_python_pause = kFirstPause;
    CHECK(python.capture() == 11);
    g_answers.node = 22;
    CHECK(python.capture() == 11);
    CHECK(g_answers.asked == 1);
    g_python_pause = kSecondPause;
    CHECK(python.capture() == 22);
    CHECK(python.capture() == 22);
    CHECK(g_answers.asked == 2);
}

TEST_CASE("while Python code may run its side is asked each time", "[capture]") {
    FakePython python;
    for (uint32_t node = 1; node < 4; ++node) {
        g_answers.node = node;
        CHECK(python.capture() == node);
    }
    g_python_pause = kFirstPause;
    CHECK(python.capture() == 3);
    g_python_pause = kRunning;
    g_answers.node = 4;
    CHECK(python.capture() == 4);
    CHECK(g_answers.asked == 5);
}

TEST_CASE("a stack that is not whole is asked for again", "[capture]") {
    FakePython python;
    g_python_pause = kFirstPause;
    g_answers.flags = format::kStackUnrecorded;
    g_answers.node = g_answers.number = 0;
    CHECK(python.capture() == 0);
    CHECK(python.flags == format::kStackUnrecorded);
    g_answers = {11, 1, 0, g_answers.asked};
    CHECK(python.capture() == 11);
    CHECK(python.flags == 0);
    CHECK(g_answers.asked == 2);
}

TEST_CASE("that a thread has no Python frames holds in a pause, too", "[capture]") {
    FakePython python;
    g_python_pause = kFirstPause;
    g_answers.node = g_answers.number = 0;
    CHECK(python.capture() == 0);
    CHECK(python.capture() == 0);
    CHECK(g_answers.asked == 1);
}
