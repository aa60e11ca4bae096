// Reads launch parameters; CUDA gives neither their number nor their types.

#include "model/memory/launch_effects.h"

#include <cstdint>
#include <cstring>

#include <pthread.h>

#include "model/memory/world.h"
#include "model/values/contents.h"
#include "model/values/guessed_reads.h"

namespace simgpu {
namespace {

// The end of this thread's stack; 0 if unknown.
uintptr_t stack_end() {
    thread_local uintptr_t end = [] {
        pthread_attr_t attributes;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
            return uintptr_t{0};
        }
        void* lowest = nullptr;
        size_t bytes = 0;
        pthread_attr_getstack(&attributes, &lowest, &bytes);
        pthread_attr_destroy(&attributes);
        return reinterpret_cast<uintptr_t>(lowest) + bytes;
    }();
    return end;
}

}  // namespace

// The parameters end at the first word that is not an address in the stack.
void note_launch(void* const* parameters) {
    Contents& contents = Contents::instance();
    contents.count_launch();
    if (contents.is_empty() || parameters == nullptr || running_operator().launches_are_reported) {
        return;
    }
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    const uintptr_t end = stack_end() - sizeof(uintptr_t);
    const auto is_in_stack = [&](const void* pointer) {
        const auto address = reinterpret_cast<uintptr_t>(pointer);
        return address > here && address < end;
    };
    if (!is_in_stack(parameters)) {
        contents.forget_all();
        return;
    }
    for (void* const* next = parameters; is_in_stack(next) && is_in_stack(*next); ++next) {
        uintptr_t value = 0;
        std::memcpy(&value, *next, sizeof value);
        if (World::instance().is_device_address(value)) {
            contents.forget_pointed_at(value);
        }
    }
}

}  // namespace simgpu
