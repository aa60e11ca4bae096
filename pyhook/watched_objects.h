// Objects of the program that are recognised until they die: modules, parameters, optimizers. For
// torch_objects/, through peakline_api.h. Guarded by the GIL. Must not change anything that the
// program can see of its objects.
#pragma once

#include <cstdint>

#include "allocator/record/tables/never_destroyed.h"
#include "pyhook/code/address_table.h"

namespace peakline::pyhook {

// Note [Deaths without weak references]
// The program can see weak references to its objects, and torch.utils.swap_tensors() refuses
// tensors with weak references, even C++ ones. So we detect deaths with tp_finalize: CPython calls
// it for every object that dies, before weak references are cleared, and a class without __del__
// has none. Our function only reports the address. If the class has a __del__, it then calls
// CPython's own function. The slot is invisible in Python. The slot belongs to the class, and
// __class__ may be assigned: fully_shard() makes a class and puts modules into it. If that class
// lacks our slot, an object dies unnoticed. So a number is valid only while the address holds an
// object of its former class, or of a class derived from it, with our slot. The memory may be
// unmapped by then, so mincore() is called first.
class WatchedObjects {
public:
    // `kind` is a class with a Python __del__, `finalizer` its tp_finalize according to CPython.
    // Returns false if this build has the slot at another offset. Call it before the other
    // functions.
    bool learn_finalizer(uint64_t kind, uint64_t finalizer);

    // Returns a number for this object, valid until it dies and never reused. 0: its death cannot
    // be detected, or the table is full.
    uint64_t watch(uint64_t object);

    // Whether the object that watch() gave this number still lives at this address.
    bool is_alive(uint64_t object, uint64_t number);

    // Detects deaths of this class's direct instances from now on. Returns false if that is
    // impossible.
    bool watch_class(uint64_t kind);

    // The object is about to die.
    void died(uint64_t object);

private:
    struct Entry : Addressed {
        uint64_t kind;  // its class
        uint64_t number;
    };
    static constexpr size_t kMostObjects = 3U << 17U;
    static constexpr size_t kMostKinds = 3U << 13U;

    void forget(Entry* entry);

    record::NeverDestroyed<AddressTable<Entry>> entries_;
    // The classes with our slot; some may be gone.
    record::NeverDestroyed<AddressTable<Addressed>> kinds_;
    uint64_t python_finalizer_ = 0;  // of classes with a __del__
    uint64_t last_number_ = 0;
};

extern WatchedObjects g_watched_objects;

}  // namespace peakline::pyhook
