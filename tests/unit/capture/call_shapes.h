// Chains of calls through frames of every shape a compiler makes, for tests that compare ways to
// walk them; and libunwind's slow stepper, which they are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace call_shapes {

// A byte of a program: its remainder by kShapeCount chooses the frame's function, the rest the size
// of its allocation on the stack, if it makes one.
inline constexpr uint8_t kShapeCount = 16;
inline constexpr uint8_t kSizedShapes[] = {4, 5, 8, 9};

// Called innermost, under one frame for each byte of the program.
using Leaf = void (*)(void* argument);

// Calls `leaf` below frames of the shapes program[0], program[1], ...
int call_through(const uint8_t* program, size_t length, Leaf leaf, void* argument);

struct Frame {
    uint64_t address;
    uint64_t cfa;
    bool operator==(const Frame&) const = default;
};

// This thread's frames by unw_step, leaf first, from the one whose callee's CFA is `start_cfa`.
void step_by_libunwind(uint64_t start_cfa, std::vector<Frame>& frames);

}  // namespace call_shapes
