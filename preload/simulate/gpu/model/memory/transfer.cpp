// Moves bytes between host addresses, and checks device addresses.

#include "model/memory/transfer.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "model/base/log.h"
#include "model/values/contents.h"
#include "model/values/guessed_reads.h"

namespace simgpu {
namespace {

enum class Side { kHost, kDevice, kUnknown };

Side side_of(const World& world, uintptr_t address) {
    if (!world.is_device_address(address)) {
        return Side::kHost;
    }
    return world.find(address) != nullptr ? Side::kDevice : Side::kUnknown;
}

void fill_host(unsigned char* start, unsigned value, size_t element_bytes, size_t bytes) {
    std::memcpy(start, &value, element_bytes);
    for (size_t done = element_bytes; done < bytes; done *= 2) {
        std::memcpy(start + done, start, std::min(done, bytes - done));
    }
}

void note_fill(uintptr_t start, unsigned value, size_t element_bytes, size_t bytes) {
    Contents& contents = Contents::instance();
    if (bytes > kMaxKnownBytes) {
        contents.forget(start, bytes);
    } else if (value == 0) {
        contents.note_zeros(start, bytes);
    } else {
        std::vector<unsigned char> filled(bytes);
        fill_host(filled.data(), value, element_bytes, bytes);
        contents.note_upload(start, filled.data(), bytes);
    }
}

}  // namespace

CUresult copy_bytes(World& world, uintptr_t to, uintptr_t from, size_t bytes) {
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    const Side to_side = side_of(world, to);
    const Side from_side = side_of(world, from);
    if (to == 0 || from == 0 || to_side == Side::kUnknown || from_side == Side::kUnknown) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    log_message(2, "copy %zu bytes to %#zx from %#zx", bytes, to, from);
    Contents& contents = Contents::instance();
    if (to_side == Side::kDevice && from_side == Side::kDevice) {
        contents.note_copy(to, from, bytes);
    } else if (to_side == Side::kDevice) {
        contents.note_upload(to, reinterpret_cast<const void*>(from), bytes);
    } else if (from_side == Side::kDevice) {
        auto* const host = reinterpret_cast<unsigned char*>(to);
        std::memset(host, 0, bytes);
        const Contents::Known known = running_operator().reads_are_guessed
                                          ? Contents::Known{}
                                          : contents.read(host, from, bytes);
        if (known.exact_bytes < bytes) {
            note_guessed_read(host, bytes);
        }
    } else {
        std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    }
    return CUDA_SUCCESS;
}

CUresult copy_rows(
    World& world, PitchedSide to, PitchedSide from, size_t width_bytes, size_t rows) {
    for (size_t row = 0; row < rows; ++row) {
        const CUresult result = copy_bytes(world,
                                           to.start + row * to.pitch_bytes,
                                           from.start + row * from.pitch_bytes,
                                           width_bytes);
        if (result != CUDA_SUCCESS) {
            return result;
        }
    }
    return CUDA_SUCCESS;
}

CUresult fill_elements(
    World& world, uintptr_t start, unsigned value, size_t element_bytes, size_t element_count) {
    if (element_count == 0) {
        return CUDA_SUCCESS;
    }
    const Side side = side_of(world, start);
    if (start == 0 || side == Side::kUnknown) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const size_t bytes = element_bytes * element_count;
    if (side == Side::kDevice) {
        note_fill(start, value, element_bytes, bytes);
    } else {
        fill_host(reinterpret_cast<unsigned char*>(start), value, element_bytes, bytes);
    }
    return CUDA_SUCCESS;
}

}  // namespace simgpu
