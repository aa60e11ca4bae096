// Hides from the compiler where a pointer came from: it neither makes the address anew for every
// use, nor puts another pointer in its place that it knows to be equal.
#pragma once

namespace peakline::record {

template <class Thing>
[[gnu::always_inline]] inline Thing* opaque(Thing* thing) {
    asm("" : "+r"(thing));
    return thing;
}

}  // namespace peakline::record
