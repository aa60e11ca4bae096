// Hides from the compiler where a pointer came from: it must neither rematerialise the address at
// every use nor substitute an equal pointer.
#pragma once

namespace peakline::record {

template <class Thing>
[[gnu::always_inline]] inline Thing* opaque(Thing* thing) {
    asm("" : "+r"(thing));
    return thing;
}

}  // namespace peakline::record
