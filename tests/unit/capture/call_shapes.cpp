#include "call_shapes.h"

#define UNW_LOCAL_ONLY
#include <alloca.h>
#include <libunwind.h>

namespace call_shapes {
namespace {

// Everything the frames do must look useful to the compiler.
template <class T>
void use(T* memory) {
    asm volatile("" : : "r"(memory) : "memory");
}

// The remaining calls, and the byte that chose the frame that gets them.
struct Rest {
    const uint8_t* program;
    size_t length;
    Leaf leaf;
    void* argument;
    uint8_t shape;
};

int next(const Rest& rest);

size_t some_bytes(const Rest& rest) {
    return 16 + size_t{16} * (rest.shape / kShapeCount);
}

[[gnu::noinline]] int plain(const Rest& rest) {
    return next(rest) + 1;
}

// Keeps many values over the call: pushes all callee-saved registers, rbp among them.
[[gnu::noinline]] int many_registers(const Rest& rest) {
    int a = 1;
    int b = 2;
    int c = 3;
    int d = 4;
    int e = 5;
    int f = 6;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    const int result = next(rest);
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    return result + a + b + c + d + e + f;
}

template <size_t kBytes>
[[gnu::noinline]] int sized_frame(const Rest& rest) {
    char memory[kBytes];
    use(memory);
    const int result = next(rest);
    use(memory);
    return result + 2;
}

template <size_t kFactor>
[[gnu::noinline]] int dynamic_frame(const Rest& rest) {
    void* memory = alloca(some_bytes(rest) * kFactor);
    use(memory);
    const int result = next(rest);
    use(memory);
    return result + 3;
}

template <size_t kAlignment, size_t kBytes>
[[gnu::noinline]] int aligned_frame(const Rest& rest) {
    alignas(kAlignment) char memory[kBytes];
    use(memory);
    const int result = next(rest);
    use(memory);
    return result + 4;
}

template <size_t kAlignment>
[[gnu::noinline]] int aligned_dynamic_frame(const Rest& rest) {
    alignas(kAlignment) char memory[kAlignment];
    void* more = alloca(some_bytes(rest));
    use(memory);
    use(more);
    const int result = next(rest);
    use(memory);
    use(more);
    return result + 5;
}

[[gnu::noinline]] int two_calls(const Rest& rest) {
    if (rest.length % 2 == 0) {
        return next(rest) + 6;
    }
    char memory[24];
    use(memory);
    const int result = next(rest) - 6;
    use(memory);
    return result;
}

[[gnu::noinline, gnu::optimize("no-omit-frame-pointer")]] int frame_pointer(const Rest& rest) {
    return next(rest) + 7;
}

[[gnu::noinline, gnu::optimize("O0")]] int not_optimised(const Rest& rest) {
    const int result = next(rest);
    return result + 8;
}

// More arguments than registers: the caller pushes, and its CFA offset changes between calls.
[[gnu::noinline]] int eight_arguments(
    const Rest& rest, long a, long b, long c, long d, long e, long f, long g) {
    long values[7] = {a, b, c, d, e, f, g};
    use(values);
    return next(rest) + static_cast<int>(values[3]);
}
[[gnu::noinline]] int pushes_arguments(const Rest& rest) {
    const int first = rest.length == 1 ? 3 : 4;
    return eight_arguments(rest, 1, 2, 3, 4, 5, 6, first) + first;
}

// rbp holds data here, as in most optimised code.
[[gnu::noinline]] int rbp_as_data(const Rest& rest) {
    register uint64_t value asm("rbp") = rest.length * 0x1234567;
    asm volatile("" : "+r"(value));
    const int result = next(rest);
    return result + 9;
}

using Shape = int (*)(const Rest&);
constexpr Shape kShapes[kShapeCount] = {plain,
                                        many_registers,
                                        sized_frame<40>,
                                        sized_frame<9000>,
                                        dynamic_frame<1>,
                                        dynamic_frame<3>,
                                        aligned_frame<64, 64>,
                                        aligned_frame<32, 3000>,
                                        aligned_dynamic_frame<64>,
                                        aligned_dynamic_frame<128>,
                                        two_calls,
                                        frame_pointer,
                                        not_optimised,
                                        pushes_arguments,
                                        rbp_as_data,
                                        many_registers};

int next(const Rest& rest) {
    if (rest.length == 0) {
        rest.leaf(rest.argument);
        return 0;
    }
    const Rest inner{rest.program + 1, rest.length - 1, rest.leaf, rest.argument, rest.program[0]};
    const int result = kShapes[rest.program[0] % kShapeCount](inner);
    use(&inner);  // not a tail call
    return result;
}

}  // namespace

int call_through(const uint8_t* program, size_t length, Leaf leaf, void* argument) {
    return next(Rest{program, length, leaf, argument, 0});
}

void step_by_libunwind(uint64_t start_cfa, std::vector<Frame>& frames) {
    frames.clear();
    unw_context_t context;
    unw_cursor_t cursor;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    bool is_inside = false;
    while (unw_step(&cursor) > 0) {
        unw_word_t address = 0;
        unw_word_t rsp = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &address);
        unw_get_reg(&cursor, UNW_REG_SP, &rsp);
        is_inside = is_inside || rsp == start_cfa;
        if (is_inside) {
            frames.push_back(Frame{address, rsp});
        }
    }
}

}  // namespace call_shapes
