// What a kernel's launch means for the known contents of memory.
//
// Note [Known contents]
// An upload can be read back until the next launch of any kernel: parameters are opaque, so any of
// them may have written it. With a companion (driver/companion.h), which tells what every operator
// writes, it outlives launches: those of operators forget nothing, others what their parameters
// point at. A collective still carries it then, because programs launch kernels between filling a
// tensor with sizes and gathering it. What a collective delivered can be read until something
// overwrites it, or until the parameters of a launch seem to point at it: torch hands the memory of
// a freed tensor to the next one, which must not read old sizes. The search for pointers reads the
// words near the parameters, all of them on the launching thread's stack; it may forget too much,
// and then the program reads zero. Of torch's element-wise kernels only the output is forgotten,
// which comes first in its row of pointers: programs compare the sizes they received before they
// read them. For the same reason two kernels are computed: torch's sum and maximum of the 64-bit
// integers that a collective delivered, by which it learns the size of the objects that follow.
// Source and destination are neighbours in the parameters of that kernel. Kernels that are compiled
// while the program runs (Triton's) take pointers and numbers, which lie anywhere in the stack: the
// first word of each is read, and no other. A pointer means the rest of its block of torch's
// allocator, which the companion reports. Of other memory it means all that is known from there on
// without a gap.

#include <algorithm>
#include <cstring>
#include <numeric>

#include <pthread.h>

#include "model/memory/world.h"
#include "model/values/contents.h"
#include "model/values/guessed_reads.h"

namespace simgpu {
namespace {

constexpr size_t kSearchedBytes = 8u << 10;
// torch's legacy kernel carries 25 dimensions of sizes and strides before the pointers.
constexpr size_t kMostElementwiseBytes = 1u << 10;
constexpr size_t kMaxReducedBytes = 64u << 10;

// The end of this thread's stack; 0 when it cannot be told.
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

struct Words {
    const uintptr_t* first;
    const uintptr_t* end;
};

Words words_between(uintptr_t start, uintptr_t end) {
    constexpr uintptr_t kWord = sizeof(uintptr_t);
    return {reinterpret_cast<const uintptr_t*>((start + kWord - 1) / kWord * kWord),
            reinterpret_cast<const uintptr_t*>(end / kWord * kWord)};
}

// The word that points at what one of torch's element-wise kernels writes; nullptr for others.
// Their parameters are a count, a function and a row of pointers; the legacy one has the row within
// the function.
const uintptr_t* elementwise_output(const char* kernel_name,
                                    void* const* parameters,
                                    uintptr_t here,
                                    uintptr_t end) {
    if (std::strstr(kernel_name, "elementwise_kernel") == nullptr) {
        return nullptr;
    }
    const bool has_row = std::strstr(kernel_name, "vectorized_") != nullptr ||
                         std::strstr(kernel_name, "unrolled_") != nullptr ||
                         std::strstr(kernel_name, "_with_index") != nullptr;
    const auto start = reinterpret_cast<uintptr_t>(parameters[has_row ? 2 : 1]);
    if (start <= here || start >= end) {
        return nullptr;
    }
    const size_t bytes = has_row ? sizeof(uintptr_t) : kMostElementwiseBytes;
    const Words row = words_between(start, std::min(end, start + bytes));
    const auto is_pointer = [](uintptr_t word) {
        return World::instance().is_device_address(word);
    };
    const uintptr_t* const found = std::find_if(row.first, row.end, is_pointer);
    return found == row.end ? nullptr : found;
}

bool is_sum(const char* kernel_name) {
    return std::strstr(kernel_name, "sum_functor") != nullptr;
}

bool is_maximum(const char* kernel_name) {
    return std::strstr(kernel_name, "MaxNanFunctorIl") != nullptr;
}

}  // namespace

void Contents::note_launch(const Launched& kernel, void* const* parameters) {
    ++launch_count_;
    if (pieces_.empty() || parameters == nullptr || running_operator().launches_are_told) {
        return;
    }
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    const auto array = reinterpret_cast<uintptr_t>(parameters);
    const uintptr_t end = std::min(stack_end(), array + kSearchedBytes);
    if (array < here || array >= end) {
        forget_all();
        return;
    }
    if (kernel.has_word_parameters) {
        forget_parameters(parameters, __builtin_frame_address(0));
        return;
    }
    const auto first = reinterpret_cast<uintptr_t>(parameters[0]);
    const Words near = words_between(first > here && first < array ? first : array, end);
    if (compute_reduction(kernel.name, near.first, near.end)) {
        return;
    }
    const uintptr_t* const output = elementwise_output(kernel.name, parameters, here, end);
    if (output != nullptr) {
        forget_pointed_at(*output);
    } else {
        forget_outputs(near.first, near.end);
    }
}

std::vector<unsigned char> Contents::known_run(uintptr_t start) const {
    std::vector<unsigned char> run;
    while (run.size() < kMaxReducedBytes) {
        const std::vector<Overlap> next = overlaps(start + run.size(), 1);
        if (next.empty()) {
            break;
        }
        const Piece& piece = *next.front().piece;
        const std::vector<unsigned char>& bytes = piece.content->bytes;
        if (piece.content->operation == nullptr || bytes.empty()) {
            return {};
        }
        run.insert(run.end(),
                   bytes.begin() + static_cast<ptrdiff_t>(next.front().offset_bytes),
                   bytes.begin() + static_cast<ptrdiff_t>(piece.offset_bytes + piece.bytes));
    }
    return run;
}

bool Contents::computes(const char* kernel_name) {
    return std::strstr(kernel_name, "reduce_kernelI") != nullptr &&
           std::strstr(kernel_name, "ReduceOpIl") != nullptr &&
           (is_sum(kernel_name) || is_maximum(kernel_name));
}

bool Contents::compute_reduction(const char* kernel_name,
                                 const uintptr_t* first_word,
                                 const uintptr_t* end) {
    if (!computes(kernel_name)) {
        return false;
    }
    const World& world = World::instance();
    for (const uintptr_t* word = first_word; word + 1 < end; ++word) {
        const std::vector<unsigned char> run = known_run(word[0]);
        if (run.size() < sizeof(int64_t) || !world.is_device_address(word[1])) {
            continue;
        }
        const auto count = run.size() / sizeof(int64_t);
        std::vector<int64_t> values(count);
        std::memcpy(values.data(), run.data(), count * sizeof(int64_t));
        const int64_t result = is_maximum(kernel_name)
                                   ? *std::max_element(values.begin(), values.end())
                                   : std::accumulate(values.begin(), values.end(), int64_t{0});
        note_upload(word[1], &result, sizeof result);
        return true;
    }
    return false;
}

// How many parameters there are is not said: they end where a word is no address in the stack.
void Contents::forget_parameters(void* const* parameters, const void* here) {
    const void* const end = reinterpret_cast<const void*>(stack_end() - sizeof(uintptr_t));
    const auto is_in_stack = [&](const void* address) { return address > here && address < end; };
    for (void* const* next = parameters; is_in_stack(next) && is_in_stack(*next); ++next) {
        uintptr_t value = 0;
        std::memcpy(&value, *next, sizeof value);
        if (World::instance().is_device_address(value)) {
            forget_pointed_at(value);
        }
    }
}

void Contents::forget_outputs(const uintptr_t* first_word, const uintptr_t* end) {
    const World& world = World::instance();
    for (const uintptr_t* word = first_word; word < end; ++word) {
        if (world.is_device_address(*word)) {
            forget_pointed_at(*word);
        }
    }
}

void Contents::forget_pointed_at(uintptr_t address) {
    if (const uintptr_t end = block_end(address); end != 0) {
        forget(address, end - address);
        return;
    }
    auto piece = pieces_.upper_bound(address);
    if (piece == pieces_.begin()) {
        return;
    }
    --piece;
    // What follows without a gap may belong to the same tensor: its end is not known.
    for (uintptr_t next = address;
         piece != pieces_.end() && next < piece->first + piece->second.bytes;
         piece = pieces_.erase(piece)) {
        if (piece->first > next) {
            return;
        }
        next = piece->first + piece->second.bytes;
        piece_bytes_ -= piece->second.bytes;
    }
}

}  // namespace simgpu
