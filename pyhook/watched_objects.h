// Objects of the program that are known again until they die: modules, parameters, optimizers. For
// torch_objects/, through peakline_api.h. Guarded by the GIL. Must not change anything that the
// program can see of its objects.
#pragma once

#include <cstdint>

#include "allocator/record/tables/never_destroyed.h"
#include "pyhook/code/address_table.h"

namespace peakline::pyhook {

// Note [Deaths without weak references]
// The program sees weak references to its objects, and torch.utils.swap_tensors() refuses tensors
// that have any, C++ ones included. So deaths are seen through tp_finalize: CPython calls it for
// every object that dies, before weak references are cleared, and a class without __del__ has none.
// Ours reports the address and does nothing else; where the class has a __del__, CPython's own
// function follows. The slot shows nowhere in Python.
// The slot belongs to the class, and __class__ may be assigned: fully_shard() makes a class and
// puts modules into it. With a class that has no such slot yet an object dies unseen. So a number
// is believed only while the address holds an object of a class with our slot, the one it had or
// one derived from it. The memory may be gone by then, so mincore() is asked first.
class WatchedObjects {
public:
    // `kind` is a class with a __del__ of Python, `finalizer` what CPython says its tp_finalize is.
    // False: this build keeps the slot elsewhere. Nothing is watched before.
    bool learn_finalizer(uint64_t kind, uint64_t finalizer);

    // A number that this object keeps until it dies, and that no other object ever gets. 0: its
    // death cannot be seen, or the table is full.
    uint64_t watch(uint64_t object);

    // Whether the object that watch() gave this number still lives at this address.
    bool is_alive(uint64_t object, uint64_t number);

    // Whether deaths of this class's own objects are seen from now on.
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
