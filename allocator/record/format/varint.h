// Numbers of the trace file, see trace_format.h: uv and zz.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::format {

inline constexpr size_t kMaxVarintBytes = 10;

inline unsigned char* put_uv(unsigned char* out, uint64_t value) {
    while (value >= 0x80) {
        *out++ = static_cast<unsigned char>(value | 0x80);
        value >>= 7;
    }
    *out++ = static_cast<unsigned char>(value);
    return out;
}

constexpr uint64_t zigzag(int64_t value) {
    return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

constexpr int64_t unzigzag(uint64_t value) {
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Returns the byte after the varint, or nullptr when it does not end before `end` or is longer
// than 64 bits.
inline const unsigned char* get_uv(const unsigned char* in,
                                   const unsigned char* end,
                                   uint64_t* value) {
    uint64_t result = 0;
    for (unsigned shift = 0; in < end && shift < 64; shift += 7) {
        const unsigned char byte = *in++;
        if (shift == 63 && byte > 1) {
            return nullptr;
        }
        result |= static_cast<uint64_t>(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = result;
            return in;
        }
    }
    return nullptr;
}

// The address field of alloc records, see above.
inline unsigned char* put_address(unsigned char* out, uint64_t address, uint64_t previous) {
    const int64_t delta = static_cast<int64_t>(address - previous);
    if ((delta & 511) == 0) {
        return put_uv(out, zigzag(delta >> 9) << 1);
    }
    return put_uv(out, zigzag(delta) << 1 | 1);
}

constexpr uint64_t apply_address(uint64_t coded, uint64_t previous) {
    const int64_t value = unzigzag(coded >> 1);
    // Unsigned: a damaged delta wraps around instead of being undefined.
    return previous + static_cast<uint64_t>(value) * ((coded & 1) != 0 ? 1 : 512);
}

}  // namespace peakline::format
