#include "watched_objects.h"

#include <sys/mman.h>

#include "pyhook/code/instances.h"
#include "pyhook/frames/python_layout.h"

namespace peakline::pyhook {
namespace {

constexpr uint64_t kHeapType = 1U << 9;  // Py_TPFLAGS_HEAPTYPE: not a built-in class
constexpr uint64_t kPageBytes = 4096;

using Finalizer = void (*)(void* object);

// Written once, before a class is given our finalizer. Called with the GIL held.
Finalizer g_python_finalizer = nullptr;

void finalize(void* object) {
    g_watched_objects.died(reinterpret_cast<uint64_t>(object));
}

void finalize_with_del(void* object) {
    finalize(object);
    g_python_finalizer(object);
}

uint64_t address_of(Finalizer function) {
    return reinterpret_cast<uint64_t>(function);
}

uint64_t* finalizer_slot(uint64_t kind) {
    return reinterpret_cast<uint64_t*>(kind + kTypeFinalize);
}

// Whether the first words of an object may be read at this address. Objects are aligned, so these
// words are in one page.
bool is_mapped(uint64_t address) {
    unsigned char is_resident = 0;
    void* const page = reinterpret_cast<void*>(address / kPageBytes * kPageBytes);
    return mincore(page, kPageBytes, &is_resident) == 0;
}

// Freed objects have no references left. Reads 32 bits: newer Pythons keep flags in the rest.
bool is_referenced(uint64_t object) {
    return read_at<int32_t>(reinterpret_cast<void*>(object), 0) > 0;
}

uint64_t class_of(uint64_t object) {
    return read_at<uint64_t>(reinterpret_cast<void*>(object), kObjectType);
}

// Whether a class equals another or derives from it.
bool is_derived(uint64_t kind, uint64_t from) {
    const void* const order = read_at<void*>(reinterpret_cast<void*>(kind), kTypeOrder);
    const auto count = read_at<int64_t>(order, kVarObjectSize);
    for (int64_t i = 0; i < count; ++i) {
        if (read_at<uint64_t>(order, static_cast<uint16_t>(kTupleItems + 8 * i)) == from) {
            return true;
        }
    }
    return false;
}

}  // namespace

// Not destroyed: objects die until the process ends.
constinit WatchedObjects g_watched_objects;

bool WatchedObjects::learn_finalizer(uint64_t kind, uint64_t finalizer) {
    if (finalizer == 0 || *finalizer_slot(kind) != finalizer ||
        (!entries_->is_ready() && !(kinds_->init(kMostKinds) && entries_->init(kMostObjects)))) {
        return false;
    }
    g_python_finalizer = reinterpret_cast<Finalizer>(finalizer);
    python_finalizer_ = finalizer;
    return true;
}

bool WatchedObjects::watch_class(uint64_t kind) {
    const auto flags = read_at<uint64_t>(reinterpret_cast<void*>(kind), kTypeFlags);
    if (python_finalizer_ == 0 || (flags & kHeapType) == 0) {
        return false;
    }
    if (kinds_->find(kind) == nullptr && kinds_->add({kind}) == nullptr) {
        return false;
    }
    uint64_t* const slot = finalizer_slot(kind);
    if (*slot == 0) {
        *slot = address_of(finalize);
    } else if (*slot == python_finalizer_) {
        *slot = address_of(finalize_with_del);
    }
    return *slot == address_of(finalize) || *slot == address_of(finalize_with_del);
}

uint64_t WatchedObjects::watch(uint64_t object) {
    const uint64_t kind = class_of(object);
    if (!watch_class(kind)) {
        return 0;
    }
    Entry* const entry = entries_->find(object);
    if (entry != nullptr && is_derived(kind, entry->kind)) {
        entry->kind = kind;
        return entry->number;
    }
    if (entry != nullptr) {
        forget(entry);  // another object, or one of a class without our slot
    }
    return entries_->add({{object}, kind, last_number_ + 1}) != nullptr ? ++last_number_ : 0;
}

bool WatchedObjects::is_alive(uint64_t object, uint64_t number) {
    Entry* const entry = entries_->find(object);
    if (entry == nullptr || entry->number != number) {
        return false;
    }
    const bool is_object = is_mapped(object) && is_referenced(object) &&
                           kinds_->find(class_of(object)) != nullptr &&
                           is_derived(class_of(object), entry->kind);
    if (!is_object) {
        forget(entry);
    }
    return is_object;
}

void WatchedObjects::died(uint64_t object) {
    Entry* const entry = entries_->find(object);
    if (entry != nullptr) {
        entries_->remove(entry);
    }
    g_instances.died(object);  // also if it was only in a stack
}

void WatchedObjects::forget(Entry* entry) {
    g_instances.died(entry->address);
    entries_->remove(entry);
}

}  // namespace peakline::pyhook
